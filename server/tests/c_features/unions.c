// Unions and compound literals: members see each other's bytes, and each literal is one object.
union V { double d; long l; int i[2]; char c[8]; };
struct S { union V v; short t; };
union T { short a[3]; char c[5]; };
struct W { char c[5]; }; struct Q { short s; char c; };
long t_pun(long k){ union V a[4]; for(int i=0;i<4;i++) a[i].d=i*k+0.5; long s=0; for(int i=0;i<4;i++) s+=a[(i+k)&3].l>>40; return s; }
static long two(union V *p, union V *q){ p->d=1.5; q->l=7; return p->l; }
long t_two(long k){ union V a[3]={0}; return two(a+(k&1),a+1)+a[1].l; }
static void cp(union V *p, int n, int k){ for(int i=0;i<n;i++){ p[i].d=i*2.5; union V w=p[(i+k)&3]; p[(i+1)&3]=w; } }
long t_cp(long k){ union V a[4]={{1},{2},{3},{4}}; cp(a,4,k); return (a[0].l>>44)+(a[1].l>>45)+(a[2].l>>46)+(a[3].l>>47); }
union V g[4];
long glob(int n,int k){ long s=0; for(int i=0;i<n;i++){ g[i].d=i*2.5; union V w=g[(i+k)&3]; s+=w.i[1]; g[(i+1)&3]=w; } return s; }
long t_g(long k){ return glob(4,k)+(g[1].l>>44); }
long t_T(long k){ union T x[3]; for(int i=0;i<3;i++) x[i].a[1]=k*300+i, x[i].a[0]=i, x[i].a[2]=5; union T y=x[1]; x[2]=y; return x[2].c[0]+x[2].c[2]*3+x[2].c[3]*5+x[1].a[1]+sizeof(union T); }
long t_W(long k){ struct W w[3]={"abc","defgh",{1,2,3,4,5}}; w[0]=w[k%3]; struct W z=w[0]; return z.c[0]+z.c[4]*256+sizeof w; }
long t_Q(long k){ struct Q q[2]={{1,2},{3,4}}; struct Q r=q[k&1]; q[0]=r; return q[0].s+q[0].c*10+sizeof q; }
long t_S(long k){ struct S s={{.l=k}, 3}; struct S t=s; t.v.c[1]=k; t.t+=s.t; return t.v.l+t.t; }
long t_lit(long k){ struct S *p=&(struct S){{.l=k},4}; struct S *q=p; q->v.l+=5; return p->v.l*10+p->t; }
struct pt { int x,y; };
long t_lit2(long k){ struct pt *p=&(struct pt){k,4}, *q=p; q->x+=5; p->y++; return p->x*10+q->y; }
long t_lit3(long k){ int *p=(int[]){1,2,k}; int *q=&(int){7}; *q+=k; p[1]+=*q; return p[0]+p[1]*10+p[2]*100+*q*1000; }
static long take(struct pt *p){ p->x+=p->y; return p->x; }
long t_lit4(long k){ struct pt *p=&(struct pt){k,4}; long a=take(p); long b=take(p); return a*100+b; }
long t_lit5(long k){ long s=0; struct pt *o=0; for(int i=0;i<3;i++){ struct pt *p=&(struct pt){i,k}; if(o) s+=o==p; p->x+=1; s=s*10+p->x+p->y; } return s; }
struct N { int k; struct N *n; };
long t_list(long k){ struct N *l=&(struct N){1,&(struct N){2,&(struct N){k,0}}}; long s=0; for(;l;l=l->n) s=s*10+l->k; return s; }
long t_uarr(long k){ union { unsigned char b[8]; unsigned long w; } u={.w=0x0102030405060708ul*(k+1)}; u.b[k&7]^=0xff; return u.w; }
long t_anon(long k){ struct { int a; union { int b; float f; }; struct { short c,d; }; } x={1,{.f=k+0.5f},{2,3}}; x.d+=k; return x.b+x.c*3+x.d*5; }
long t_flt(long k){ union { float f; unsigned u; } x; x.f=k*1.25f; return x.u; }
