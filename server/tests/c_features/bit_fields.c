// Bit-fields wherever an object may stand: their layout is the host's, they are cut, extended and promoted.
struct A { int a:3; int b:5; unsigned c:7; int d; };
struct B { unsigned char x:3, y:7; unsigned short z:9; long w:40; unsigned long v:33; int :0; int t:1; };
struct C { int a:5; int :0; int b:5; char c; int d:4; };
struct D { char c; int :12; unsigned e:12; _Bool f:1; };
struct E { long a:63; long b:2; short s; };
union U { unsigned w; struct { unsigned lo:12, mid:8, hi:12; } p; };
enum e { X, Y, Z };
struct F { enum e k:2; unsigned char small:8; unsigned full:32; unsigned long whole:64; };
struct G { char a; struct { int x:3; int y:4; } in; int :3; } ;
struct H { unsigned short :0; char a:4; char :0; char b:4; long :0; char c; };
struct A ga = { 1, -2, 100, 7 }; struct B gb = { .y = 77, .w = -5, .v = 1ul<<32, .t = -1 };
struct A garr[3] = { {1,2,3,4}, {.c=127}, [2]={-4,-16,1,9} };
static struct C gc[2] = {{1,2,3,4},{5,6,7,-8}};
long t_sizes(long k){ switch(k){case 0:return sizeof(struct A)*100+_Alignof(struct A);case 1:return sizeof(struct B)*100+_Alignof(struct B);case 2: return sizeof(struct C)*1000000+sizeof(struct D)*10000+sizeof(struct E)*100+sizeof(struct F); default: return sizeof(struct G)*10000+sizeof(struct H)*100+_Alignof(struct H);} }
long t_local(long k){ struct A x={1,2,3,4}; x.a=k; x.b=k*7; x.c+=k*30; x.d=-k; x.a++; x.b--; x.c<<=1; return x.a*1000000+x.b*10000+x.c*100+x.d; }
static long viap(struct B *p,long k){ p->x=k; p->y=k*30; p->z=k*200; p->w=k<<38; p->v=-k; p->t=k; return p->x+p->y*10+p->z*1000+p->w+(unsigned long)p->v+p->t; }
long t_ptr(long k){ struct B b; unsigned char*z=(unsigned char*)&b;for(unsigned i=0;i<sizeof b;i++)z[i]=0xff; long r=viap(&b,k); unsigned char *c=(unsigned char*)&b; for(unsigned i=0;i<18;i++) r=r*31+c[i]; return r; }
long t_global(long k){ return ga.a+ga.b*10+ga.c*100+ga.d*10000+gb.y+gb.w+gb.v+gb.t; }
long t_gset(long k){ ga.b=k; gb.v=k*1234567; gb.x=7; return ga.a+ga.b*10+ga.c*100+ga.d*10000+gb.y+gb.w+gb.v+gb.t+gb.x; }
long t_arr(long k){ long s=0; garr[k%3].a=k; for(int i=0;i<3;i++) s=s*17+garr[i].a*3+garr[i].b*5+garr[i].c*7+garr[i].d; return s; }
long t_bytes(long k){ const unsigned char*c=(const unsigned char*)gc; long s=0; for(unsigned i=0;i<sizeof gc;i++) s=s*7+c[i]; return s; }
long t_bytesB(long k){ const unsigned char*c=(const unsigned char*)&gb; long s=0; for(unsigned i=0;i<sizeof gb;i++) s=s*7+c[i]; return s; }
long t_union(long k){ union U u; u.w=0x12345678u*(k+1); u.p.mid=k; return u.w+u.p.lo*3+u.p.hi; }
long t_enum(long k){ struct F f={0}; f.k=k; f.small=k*100; f.full=~k; f.whole=-k; return f.k+f.small*10+f.full+f.whole; }
long t_prom(long k){ struct A x={.c=3}; struct F f={.full=k,.k=Y}; return (x.c-4<0)*1+(f.full-6<0)*2 + (-(long)x.c) + (x.c-10)/3; }
long t_nest(long k){ struct G g={'a',{1,2}}; g.in.x=k; g.in.y=k*3; struct G h=g; h.in.x++; return g.in.x+g.in.y*10+h.in.x*100+h.a; }
long t_assign(long k){ struct A x; long r=(x.a=k*5); r=r*10+(x.a+=3); r=r*10+(x.a++); r=r*10+(++x.a); r=r*10+(x.c=300+k); return r; }
long t_bool(long k){ struct D d={0}; d.f=k*2; d.e=k*5000; d.c=k; return d.f+d.e*10+d.c; }
long t_loop(long k){ struct A x[8]; for(int i=0;i<8;i++){ x[i].a=i; x[i].b=i*k; x[i].c=i*i*k; x[i].d=0; } long s=0; for(int i=0;i<8;i++) s+=x[i].a*3+x[i].b*100+x[i].c*7; return s; }
static struct A byval(struct A q,int k){ q.a=k; q.c=q.c+1; return q; }
long t_byval(long k){ struct A x={1,2,3,4}; struct A y=byval(x,k); return y.a+y.b*10+y.c*100+y.d*1000+x.a; }
struct A extA(struct A q,int k){ if(k<0) return extA(q,k+1); q.a=k; q.c=q.c+1; return q; }
long t_ext(long k){ struct A x={1,2,3,4}; struct A y=extA(x,k); struct A (*f)(struct A,int)=k>100?byval:extA; struct A z=f(y,k+1); return y.a+y.b*10+y.c*100+y.d*1000+x.a+z.a*7+z.c; }
long t_w64(long k){ struct E e; e.a=k-3; e.b=k; e.s=9; return e.a*100+e.b*10+e.s; }
long t_H(long k){ struct H h={0}; h.a=k; h.b=k*3; h.c=k; unsigned char*c=(unsigned char*)&h; long s=0; for(unsigned i=0;i<sizeof h;i++) s=s*7+c[i]; return s; }
long t_comp(long k){ struct A *p=&(struct A){.a=k,.c=k+1}; return p->a*10+p->c; }
long t_cond(long k){ struct A x={.a=1},y={.a=2}; return (k?x:y).a; }
long t_vol(long k){ volatile struct A x={1,2,3,4}; x.a=k; return x.a+x.b; }
long t_stat(long k){ static struct B s={.z=7}; s.z+=k; s.x++; return s.z*10+s.x; }
