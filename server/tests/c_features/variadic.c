// Functions with arguments behind `...`, and lists of them.
#include <stdarg.h>
struct s3 { char c[3]; }; struct p { int x; long y; }; struct f2 { float x,y; }; struct l5 { long a[5]; }; struct d2 { double x,y; };
int sum(int n, ...) { va_list ap; va_start(ap, n); int s = 0; for (int i = 0; i < n; i++) s = s * 3 + va_arg(ap, int); va_end(ap); return s; }
double dsum(int n, ...) { va_list ap; va_start(ap, n); double s = 0; while (n-- > 0) s = s * 3 + va_arg(ap, double); va_end(ap); return s; }
long mixed(const char *f, ...) { va_list ap; va_start(ap, f); long s = 0; for (; *f; f++) switch (*f) { case 'i': s = s*7+va_arg(ap,int); break; case 'l': s=s*7+va_arg(ap,long); break; case 'd': s=s*7+(long)(va_arg(ap,double)*4); break; case 'u': s=s*7+va_arg(ap,unsigned); break; case 's': s=s*7+*va_arg(ap,char*); break; case '3': { struct s3 x=va_arg(ap,struct s3); s=s*7+x.c[0]+x.c[2]; break; } case 'p': s=s*7+va_arg(ap,struct p).y; break; case 'f': { struct f2 x=va_arg(ap,struct f2); s=s*7+(long)(x.x*2+x.y); break; } case '5': { struct l5 x=va_arg(ap,struct l5); s=s*7+x.a[0]+x.a[4]; break; } case 'D': s=s*7+va_arg(ap,struct d2).y; break; } va_end(ap); return s; }
static long vmixed(int n, va_list ap) { long s=0; while(n--) s=s*5+va_arg(ap,long); return s; }
long outer(int n, ...) { va_list ap, aq; va_start(ap,n); va_copy(aq,ap); long s=vmixed(n,ap); va_end(ap); long t=va_arg(aq,long); va_end(aq); return s*10+t; }
struct l5 big(int a, ...) { va_list ap; va_start(ap,a); struct l5 r={{a}}; for(int i=1;i<5;i++) r.a[i]=va_arg(ap,int); va_end(ap); return r; }
double after(int a,int b,int c,int d,int e,int f,int g,int h,int i,double j,...) { va_list ap; va_start(ap,j); double s=a+b*2+i*3+j; s+=va_arg(ap,int); s+=va_arg(ap,double); va_end(ap); return s; }
float fafter(float x, double y, ...) { __builtin_va_list ap; __builtin_va_start(ap,y); float r=x+y+__builtin_va_arg(ap,int); __builtin_va_end(ap); return r; }
static int stat(int n, ...) { va_list ap; va_start(ap,n); int r=va_arg(ap,int)+n; va_end(ap); return r; }
long twice(int n, ...) { va_list ap; long s=0; for(int j=0;j<2;j++){ va_start(ap,n); for(int i=0;i<n;i++) s=s*3+va_arg(ap,int)+j; va_end(ap);} return s; }
static long get(va_list *ap){ return va_arg(*ap,long); }
long bypointer(int n, ...) { va_list ap; va_start(ap,n); long s=0; for(int i=0;i<n;i++) s=s*3+get(&ap); va_end(ap); return s; }
long rec(int n, ...) { va_list ap; va_start(ap,n); long x=va_arg(ap,int); va_end(ap); return n?rec(n-1,(int)x+n)+1:x; }
typedef int (*vf)(int,...);
long t_sum(long k) { return sum(k,1,2,3,4,5)+sum(12,1,2,3,4,5,6,7,8,9,10,11,(int)k); }
long t_dsum(long k) { return dsum(k,1.5,2.5,3.5f,4.0,5.0)*8+dsum(11,1.,2.,3.,4.,5.,6.,7.,8.,9.,10.,(double)k); }
long t_mixed(long k) { struct s3 a={"xyz"}; struct p b={1,k}; struct f2 c={1.5f,k}; struct l5 d={{1,2,3,4,k}}; struct d2 e={1,k}; return mixed("il3dpufs5Di",(int)k,k*1000000000l,a,2.5,b,-1,c,"q",d,e,(char)k); }
long t_outer(long k) { return outer(k,1l,2l,3l,4l,5l); }
long t_big(long k) { struct l5 r=big(k,1,2,(int)k,4); return r.a[0]+r.a[1]*10+r.a[3]*100+r.a[4]*1000; }
long t_after(long k) { return after(1,2,3,4,5,6,7,8,9,0.5,(int)k,1.5)*10; }
long t_fafter(long k) { return fafter(1.5f,2.5,(int)k)*10; }
long t_stat(long k) { return stat(k,7); }
long t_twice(long k) { return twice(k,1,2,3,4,5); }
long t_byptr(long k) { return bypointer(k,1l,2l,3l,4l,5l); }
long t_rec(long k) { return rec(k,10); }
long t_ptr(long k) { vf f = k&1?sum:stat; return f(3,4,5,6); }
