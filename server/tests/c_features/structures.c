// Structures as arguments and results: words, numbers of floating point alone, and results that the caller has room for.
struct c5 { char c[5]; }; struct c3 { char c[3]; }; struct i3 { int a,b,c; }; struct m { char c; short s; int i; double d; };
struct l4 { long a,b,c,d; }; struct l5 { long a[5]; }; struct big { char c[100]; int k; }; struct odd { char c[37]; };
struct f2 { float x,y; }; struct f3 { float x,y,z; }; struct f4 { float v[4]; }; struct d2 { double x,y; }; struct d3 { struct d2 a; double z; }; struct d9 { double v[9]; };
struct mix { float f; int i; }; struct p { const char *s; long n; }; struct fd { float f; double d; }; union u { double d; long l; }; union uf { float f[2]; struct f2 p; };
struct huge { long a[200]; }; struct one { char c; }; struct bf { unsigned a:3; int b:9; long c:40; }; struct hb { _Bool b; short s; };
struct al { _Alignas(16) long a; long b; };
#define NI __attribute__((noinline,noclone))
#define REC(t,n,params,args,body) NI t n params { static volatile int stop; if (stop) return n args; body }
typedef struct c5 c5; typedef struct c3 c3;
struct c5 fc5(struct c5 x, int k); struct c3 fc3(int a, struct c3 x, struct c3 y);
struct c5 fc5(struct c5 x, int k){ if(k>0) return fc5(x,k-1); x.c[0]+=7; x.c[4]*=2; return x; }
struct c3 fc3(int a, struct c3 x, struct c3 y){ if(a>0) return fc3(a-1,y,x); x.c[1]+=y.c[2]; return x; }
struct i3 fi3(struct i3 x, int k){ if(k>0){ x.b+=k; return fi3(x,k-1);} x.c=x.a+x.b; return x; }
struct m fm(struct m x, int k){ if(k>0){ x.d+=k; return fm(x,k-1);} x.c=x.s+x.i; return x; }
struct l4 fl4(int k, struct l4 x, struct l4 y){ if(k>0) return fl4(k-1,y,x); x.a+=y.d; x.d-=y.b; return x; }
struct l5 fl5(int k, struct l5 x, struct l5 y){ if(k>0) return fl5(k-1,y,x); x.a[0]+=y.a[4]; x.a[4]-=y.a[2]; return x; }
struct big fbig(struct big x, int k){ if(k>0){ x.c[k]=k; x.k+=k; return fbig(x,k-1);} return x; }
struct odd fodd(int j, struct odd x, int k){ if(k>0){ x.c[k]=k+j; return fodd(j+1,x,k-1);} return x; }
struct f2 ff2(struct f2 a, int k, struct f2 b){ if(k>0) return ff2(b,k-1,a); a.x+=b.y; a.y*=2; return a; }
struct f3 ff3(struct f3 a, int k, struct f3 b, int j){ if(k>0) return ff3(b,k-1,a,j+1); a.x+=b.y+j; a.z*=2; return a; }
struct f4 ff4(int k, struct f4 a, double d, float e, long j){ if(k>0) return ff4(k-1,a,d+1,e+2,j*3); a.v[3]+=d+e+j; return a; }
struct d2 fd2(struct d2 a, int k, double z, struct d2 b){ if(k>0) return fd2(b,k-1,z+1,a); a.x+=z; return a; }
struct d3 fd3(struct d3 a, int k, struct d3 b, int j){ if(k>0) return fd3(b,k-1,a,j+1); a.z+=b.a.x+j; return a; }
struct d9 fd9(struct d9 a, int k){ if(k>0){ a.v[k]+=k; return fd9(a,k-1);} return a; }
struct mix fmix(struct mix a, int k){ if(k>0){ a.f+=k; a.i-=k; return fmix(a,k-1);} return a; }
struct p fp(struct p a, int k){ if(k>0){ a.s++; a.n+=k; return fp(a,k-1);} return a; }
struct fd ffd(struct fd a, int k){ if(k>0){ a.f+=k; a.d-=k; return ffd(a,k-1);} return a; }
union u fu(union u a, int k){ if(k>0){ a.d+=k; return fu(a,k-1);} return a; }
union uf fuf(union uf a, int k, int j){ if(k>0){ a.f[1]+=k; return fuf(a,k-1,j+1);} a.p.x+=j; return a; }
struct huge fhuge(struct huge a, int k){ if(k>0){ a.a[k*30]+=k; return fhuge(a,k-1);} return a; }
struct one fone(struct one a, int k){ if(k>0){ a.c+=k; return fone(a,k-1);} return a; }
struct bf fbf(struct bf a, int k){ if(k>0){ a.b-=k; a.c+=1l<<33; return fbf(a,k-1);} return a; }
struct hb fhb(struct hb a, int k){ if(k>0){ a.b=!a.b; a.s+=k; return fhb(a,k-1);} return a; }
struct al fal(int k, struct al a, int j, struct al b, long z){ if(k>0) return fal(k-1,b,j+1,a,z*2); a.a+=b.b*j+z; return a; }
double fmany(int a,int b,int c,int d,int e,int f,int g,int h,double x,float y,struct f2 z,int k){ if(k>0) return fmany(b,c,d,e,f,g,h,a,x+1,y+2,z,k-1); return a+2*b+x*3+y*5+z.x*7+z.y*11+h; }
struct l5 fstack(int a,int b,int c,struct l5 x,struct c5 y,int k){ if(k>0) return fstack(b,c,a,x,y,k-1); x.a[1]+=a+y.c[4]; x.a[4]+=y.c[0]; return x; }
long t_c5(long k){ c5 x={"abcd"}; x.c[4]=k; c5 y=fc5(x,k); return y.c[0]+y.c[1]*3+y.c[4]*100; }
long t_c3(long k){ c3 x={{1,2,3}},y={{4,5,6}}; c3 z=fc3(k,x,y); return z.c[0]+z.c[1]*10+z.c[2]*100; }
long t_i3(long k){ struct i3 x={1,-2,3}; x=fi3(x,k); return x.a+x.b*10+x.c*100; }
long t_m(long k){ struct m x={1,2,3,4.5}; x=fm(x,k); return x.c+x.s*10+x.i*100+(long)(x.d*1000); }
long t_l4(long k){ struct l4 x={1,2,3,4},y={50,60,70,80}; x=fl4(k,x,y); return x.a+x.b*10+x.c*100+x.d*1000; }
long t_l5(long k){ struct l5 x={{1,2,3,4,5}},y={{50,60,70,80,90}}; x=fl5(k,x,y); return x.a[0]+x.a[1]*10+x.a[2]*100+x.a[4]*1000; }
long t_big(long k){ struct big x={"hello",3}; x=fbig(x,k); long s=0; for(int i=0;i<100;i++) s=s*3+x.c[i]; return s+x.k; }
long t_odd(long k){ struct odd x={"hello"}; x=fodd(k,x,k); long s=0; for(int i=0;i<37;i++) s=s*3+x.c[i]; return s; }
long t_f2(long k){ struct f2 a={1,2},b={3,4}; a=ff2(a,k,b); return a.x*10+a.y*100; }
long t_f3(long k){ struct f3 a={1,2,3},b={3,4,5}; a=ff3(a,k,b,k); return a.x*10+a.y*100+a.z*1000; }
long t_f4(long k){ struct f4 a={{1,2,3,4}}; a=ff4(k,a,1.5,2.5f,3); return a.v[0]+a.v[1]*10+a.v[3]*100; }
long t_d2(long k){ struct d2 a={1,2},b={3,4}; a=fd2(a,k,0.5,b); return a.x*10+a.y*100; }
long t_d3(long k){ struct d3 a={{1,2},3},b={{3,4},5}; a=fd3(a,k,b,k); return a.a.x*10+a.a.y*100+a.z*1000; }
long t_d9(long k){ struct d9 a={{1,2,3,4,5,6,7,8,9}}; a=fd9(a,k); long s=0; for(int i=0;i<9;i++) s=s*3+a.v[i]; return s; }
long t_mix(long k){ struct mix a={1.5f,7}; a=fmix(a,k); return a.f*10+a.i*100; }
long t_p(long k){ struct p a={"abcdefgh",7}; a=fp(a,k); return *a.s+a.n*1000; }
long t_fd(long k){ struct fd a={1.5f,7}; a=ffd(a,k); return a.f*10+a.d*100; }
long t_u(long k){ union u a={1.5}; a=fu(a,k); return a.d*10+(a.l>>40); }
long t_uf(long k){ union uf a={{1.5f,2}}; a=fuf(a,k,4); return a.p.x*10+a.p.y*100; }
long t_huge(long k){ struct huge a={{1,2,3}}; a=fhuge(a,k); long s=0; for(int i=0;i<200;i++) s=s*3+a.a[i]; return s; }
long t_one(long k){ struct one a={3}; return fone(a,k).c; }
long t_bf(long k){ struct bf a={5,6,7}; a=fbf(a,k); return a.a+a.b*10+a.c; }
long t_hb(long k){ struct hb a={1,-3}; a=fhb(a,k); return a.b+a.s*10; }
long t_al(long k){ struct al a={1,2},b={3,4}; a=fal(k,a,5,b,6); return a.a+a.b*1000; }
long t_many(long k){ struct f2 z={1,2}; return fmany(1,2,3,4,5,6,7,8,1.5,2.5f,z,k)*10; }
long t_stack(long k){ struct l5 x={{1,2,3,4,5}}; struct c5 y={"wxyz"}; x=fstack(1,2,3,x,y,k); return x.a[0]+x.a[1]*10+x.a[4]*1000; }
typedef struct l5 (*fn)(int, struct l5, struct l5);
typedef struct f3 (*fg)(struct f3, int, struct f3, int);
struct l5 other(int k, struct l5 x, struct l5 y){ x.a[0]=k; x.a[1]=y.a[1]; return x; }
long t_ptr(long k){ fn f=k&1?fl5:other; struct l5 x={{1,2,3,4,5}},y={{50,60,70,80,90}}; x=f(k,x,f(1,y,x)); return x.a[0]+x.a[1]*10+x.a[4]*100; }
struct f3 g3(struct f3 a,int k,struct f3 b,int j){ a.x=b.z*k+j; return a; }
long t_ptr3(long k){ fg f=k&1?ff3:g3; struct f3 a={1,2,3},b={3,4,5}; a=f(a,k,f(b,1,a,2),3); return a.x*10+a.y*100+a.z*1000; }
long t_member(long k){ struct l5 x={{1,2,3,4,5}}; return fl5(k,x,x).a[4]*10+fl4(k,(struct l4){1,2,3,4},(struct l4){5,6,7,8}).d; }
long t_loop(long k){ struct l5 x={{1,2,3,4,5}}; long s=0; for(int i=0;i<4;i++){ x=fl5(i,x,x); s=s*7+x.a[0]; } return s+x.a[4]; }
static struct l5 in(struct l5 *p){ struct l5 r=*p; r.a[0]+=1; p->a[0]=99; return r; }
long t_alias(long k){ struct l5 x={{1,2,3,4,5}}; x=in(&x); return x.a[0]+x.a[1]; }
struct l5 in2(struct l5 *p,int k){ if(k) return in2(p,k-1); p->a[0]=99; struct l5 r={{p->a[0],1,2,3,4}}; p->a[1]=7; return r; }
long t_alias2(long k){ struct l5 x={{1,2,3,4,5}}; x=in2(&x,k); return x.a[0]+x.a[1]*1000; }
