// Declarations, initialisers, literals, statements and conversions of C11, a function a construct.
#include <stddef.h>
int d1(int), d2(int);
int d1(int x){ return x+1; } int d2(int x){ return x*2; }
int (*tab[2])(int) = { d1, d2 }, gi = 5, *gp = &gi, ga[3] = {1,2,3};
struct ops { int (*f)(int); const char *n; } ops[] = { {d1,"one"}, {.n="two",.f=d2} };
long t_decl(long k){ return d1(k)+tab[k&1](k)+*gp+ga[k%3]+ops[k&1].f(k)+ops[k&1].n[0]; }
#define T(x) _Generic((x), char:1, unsigned char:3, short:4, int:5, unsigned:6, long:7, unsigned long:8, float:9, double:10, char*:11, const char*:12, int*:13, void*:14, struct ops:15, default:99)
long t_generic(long k){ char c=0; short s=0; struct ops o={0}; const char *cc=0; return T(k)*1000000+T(c)*10000+T(s)*100+T(c+s)+T(1u)*7+T(1.0f)*11+T("x")*13+T(cc)*17+T(o)*19+T(&gi)*23+T((void*)0)*29+T(1ul)*31+T(1.0)*37+T((unsigned char)1)*41+T(k?1:2u)*43+T(ga)*47; }
_Static_assert(sizeof(int)==4, "int"); _Static_assert(1,"x");
struct sa { int a; _Static_assert(sizeof(long)==8,"l"); char b; };
long t_sa(long k){ _Static_assert(sizeof(struct sa)==8,""); return sizeof(struct sa); }
struct al { char c; _Alignas(16) int i; _Alignas(double) char d; };
long t_al(long k){ return _Alignof(struct al)+sizeof(struct al)*100+_Alignof(int[3])+offsetof(struct al,d)*10000; }
_Noreturn void die(void){ for(;;); }
long t_nr(long k){ if(k>1000) die(); return k; }
struct an { int a; union { struct { short lo, hi; }; int w; }; struct { int z; } n; };
struct an gan = { 1, { .w = 0x20003 }, { 4 } }, gan2 = { .hi = 3, .n.z = 9, .a=2 };
long t_anon(long k){ struct an x = { .lo=k, .n={7} }; x.hi=3; return x.w+x.a+x.n.z+gan.lo+gan.hi*10+gan2.w+gan2.n.z+gan2.a; }
struct fl { int n; short d[]; };
struct n1 { int a[3]; struct { int b, c[2]; } d[2]; int e; };
struct n1 gn = { {1,[2]=3}, { [1] = { .c[1]=5, .b=2 }, [0].c={7,8} }, 9 };
struct n1 gm = { .d[0].b=1, 2, 3, {4,5}, .a[1]=6, 7, .e=8 };
int ranges[8] = { [1 ... 3] = 4, 5, [7]=9 };
int gmat[][3] = { {1}, {2,3}, [3]={4,5,6} }, gflat[2][2] = {1,2,3,4};
long sum(const int *p, int n){ long s=0; for(int i=0;i<n;i++) s=s*7+p[i]; return s; }
long t_desig(long k){ struct n1 x={ {1,[2]=k}, { [1] = { .c[1]=k, .b=2 }, [0].c={7,8} }, 9 }; struct n1 y={ .d[0].b=k, 2, 3, {4,5}, .a[1]=6, 7, .e=8 }; return sum((int*)&gn,sizeof gn/4)+sum((int*)&gm,sizeof gm/4)+sum((int*)&x,sizeof x/4)*3+sum((int*)&y,sizeof y/4)*5+sum(ranges,8)+sum((int*)gmat,sizeof gmat/4)+sum((int*)gflat,4); }
long t_desig2(long k){ struct n1 y={ .d[0].b=k, 2, 3, {4,5}, .a[1]=6, 7, .e=8 }; return sum((int*)&y,sizeof y/4); }
long t_desig3(long k){ return sum((int*)&gm,sizeof gm/4); }
long t_desig4(long k){ return sum((int*)&gn,sizeof gn/4); }
char gc4[4]="abcd"; char gcs[]="a\0b"; char gpad[8]="ab";
long t_str(long k){ const char *e=u8"h\u00e9é" "\x41\xe9" "B\351\0z"; return (unsigned char)e[k]+(unsigned char)e[k+2]*3+(unsigned char)e[k+4]*5+sizeof(u8"\u00e9")*1000+sizeof("a" "b" "cd")+gc4[k%4]+sizeof gcs*10+gpad[k]; }
long t_chars(long k){ return 'a'+'\n'*3+'\''+'\\'+'\0'+'\x7f'+'\377'+L'\u00e9'+u'x'+U'\U0001F600'+'ab'+'\?'; }
long t_hexf(long k){ return (long)(0x1.8p3*k)+(long)(0x.8p1f)+(long)0x10p-2+(long)1e3+(long)(.5e1)+(long)(5.f*k); }
inline int inl(int x){ return x+1; } extern inline int einl(int x){ return x*3; } static inline int sinl(int x){ return x-1; }
extern int inl(int);
long t_inl(long k){ return inl(k)+einl(k)+sinl(k); }
static int counter(void){ static int n=3; static int arr[2]={1,2}; arr[0]++; return n++ + arr[0]; }
static int counter2(void){ static int n; { static int n=100; n++; return n; } }
long t_static(long k){ long s=0; for(int i=0;i<k;i++) s=s*10+counter()+counter2(); return s; }
enum E1 { A1, B1=5, C1, D1=-3, F1 }; enum { G1=B1+C1, H1='x', I1=sizeof(int) };
enum big { BG = 0x7fffffff }; 
long t_enum(long k){ enum E1 e=k; enum { L1=9, M1 } l=M1; return A1+B1+C1+D1+F1+G1+H1+I1+e+l+(e<B1)+sizeof(enum E1)+sizeof(enum big); }
long t_sw(long k){ long s=0; for(int i=0;i<4;i++){ unsigned long v=(k<<40)+i*0x100000000ul; switch(v){ case 0x100000000: s+=1; case 0x10000000000: s+=2; break; case 0xffffffffffffffff: s+=4; break; case 0x20000000000+0x300000000: s+=8; break; default: s+=16; } } switch((char)(k+254)){ case -2: s+=100; break; case 254: s+=200; break; case -1: s+=300; break; case 0 ... 2: s+=400; } switch(k){ int z; case 0: z=1; s+=z; { case 1: s+=7; } break; case -1: case 5: s+=9; } return s; }
long t_goto(long k){ long s=0; int i=0; if(k==2) goto in; top: s+=1; { int q=5; in: q=3; s+=q; if(i++<k) goto top; } if(k==5) goto out; for(int j=0;j<3;j++){ s*=2; if(j==1&&k==1) goto out; cont:; } out: return s; }
long t_duff(long k){ int n=k+3; long s=0; int c=(n+3)/4; switch(n%4){ case 0: do { s=s*3+1; case 3: s=s*3+2; case 2: s+=3; case 1: s+=4; } while(--c>0); } return s; }
long t_comma(long k){ int a=(k++,k*2), b=(a,1); for(int i=0,j=9;i<j;i++,j--) b+=i*j; return a+b+(k>2?a:(b,7)); }
long t_cond(long k){ long r=0; r+=(k?1u:-1)>0; r+=(k?-1:1ul)>0?2:0; r+=sizeof(k?(char)1:(short)1)*10; r+=(long)((k?1:2.5)*100); r+=(k>1?(unsigned char)200:(signed char)-1); int *p=k?&gi:0; r+=p?*p:3; const void *v=k?(void*)p:"x"; r+=v==p; r+= k?:77; return r; }
long t_prom(long k){ unsigned char a=200,b=100; signed char c=-128; unsigned short us=65535; short s=-1; long r=a+b; r+=(a<<4)*3; r+=-c; r+=us*us; r+=(us>s); r+=(unsigned char)(a+b)*7; r+=~a; r+=(s>>1); r+=(us>>1); r+= a-b*3; c-=1; r+=c; a+=k*100; r+=a; us++; r+=us; r+=(k-3u>0); r+=(-1<1u); r+=(-1l<1u)*10; return r; }
long t_fcv(long k){ double d=k*1e18; unsigned long u=(unsigned long)(d+9.3e18*(k>0)); float f=u; long r=(long)(f/1e12f); unsigned long m=~0ul-k; double e=m; r+=(long)(e/1e10); r+=(unsigned)(k*8e8); r+=(unsigned char)(k+250.7); r+=(long)-2.9; r+=(int)(-k*1.5); r+=(long)(float)(k*16777217); unsigned v=k*1000000000u; double g=v; r+=(long)g; float h=(long)0x7fffffffffffffff; r+=h>9e18; r+=(unsigned long)1.8e19>>32; return r; }
long t_bool(long k){ _Bool b=k, c=0.3, d=&gi, e=(_Bool)256; b+=5; b--; _Bool f=!k; f|=4; return b+c*2+d*4+e*8+f*16+sizeof(_Bool)*100+(b==1)+(~b)*1000; }
long t_litarr(long k){ int *p=(int[]){1,[3]=k}; int (*q)[2]=(int[][2]){{1,2},{3,k}}; char *s=(char[]){"abc"}; s[0]='z'; return p[3]+p[0]+q[1][1]*10+q[0][1]+s[0]+s[2]+((struct ops){.n="k"}).n[0]+sizeof((int[]){1,2,3}); }
const char *names[] = { [2]="two", "three", [0]="zero" }; char (*pn)[4] = &gc4; int *mid = &ga[1]+1; size_t diff = (char*)&gan.n - (char*)&gan; char **ap[2] = {(char**)names,(char**)(names+2)};
long t_addr(long k){ return (names[k%4]?names[k%4][0]:-1)+(*pn)[1]+*mid+mid[-1]+ap[1][0][1]; }
long t_ptr(long k){ int m[3][4]; for(int i=0;i<12;i++) ((int*)m)[i]=i*k; int (*r)[4]=m+1; long s=r[0][1]+(*r)[2]+*(*(m+2)+3)+(&m[2][1]-&m[0][0])+(int)((char*)(r+1)-(char*)r)+sizeof *r+sizeof m; int *e=&m[3][0], *b=m[0]; return s+(e-b)+(e>b); }
long t_vol(long k){ volatile int v=k; volatile int *p=&v; *p+=3; return v+*p; }
typedef int arr3[3]; typedef int (*fp)(int); typedef struct tag { struct tag *next; int v; } tag;
static fp pick(int k){ return k?d1:d2; } int (*pick2(int k))(int){ return k?d2:d1; }
long t_type(long k){ arr3 a={1,2,3}; tag t={0,k}, u={&t,2}; return a[k%3]+pick(k)(5)+pick2(k)(6)+(*pick2(k))(7)+u.next->v+sizeof(arr3)+sizeof(fp); }
static long many(const arr3 a, int n, int m[][2], fp f, int g(int)){ return a[n]+m[1][1]+f(1)+g(2); }
long t_par(long k){ arr3 a={1,2,3}; int m[2][2]={{1,2},{3,4}}; return many(a,k%3,m,d1,d2); }
long t_shadow(long k){ int x=1; { int x=2; { extern int gi; x+=gi; } k+=x; } for(int x=0;x<2;x++) k+=x; return k+x; }
long t_logic(long k){ int n=0; int a=(n++,k)&&(n+=10,1); int b=!k||(n+=100,0); return a*1000+b*2000+n+(k==1?1:k==2?2:3)+!(k>1)+!!k; }
long t_shift(long k){ unsigned u=0x80000001u; int i=-8; long l=-1l<<k; return (u>>k)+(i>>1)+(u<<k)+l+(1ul<<(63-k))/3+((unsigned char)255<<4)+(i>>k); }
long t_divs(long k){ long a=-17-k, b=5; unsigned long c=~0ul-k; return a/b+a%b*100+c/7%1000+c%10*3+(-17)/(int)(k+3)+17%(int)(-k-3)+(unsigned)-5/(unsigned)(k+2); }
long t_inc(long k){ int a[4]={1,2,3,4},*p=a; *p++=k; *++p+=5; p[-1]--; int i=0; a[i++]+=10; a[i]=i; return a[0]+a[1]*10+a[2]*100+a[3]*1000+(p-a)+i; }
struct A { char c; _Alignas(16) int i; char d __attribute__((aligned(4))); };
typedef struct { char a; } __attribute__((aligned(8))) B;
_Alignas(64) char buffer[3];
struct fl gfl = { 3, {1,2,3} };
long t_flex(long k){ struct fl *p=&gfl; return sizeof(struct fl)*100+p->d[k%3]+p->n; }
long t_aligned(long k){ return sizeof(struct A)*100+_Alignof(struct A)+sizeof(B)*10000+_Alignof(B)*1000000+((long)buffer&63); }
