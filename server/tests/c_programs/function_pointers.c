static int f1(int x){return x*2+1;} static int f2(int x){return x-5;}
int choose(int a,int k){ int(*f)(int)=k&1?f1:f2; return f(a); }
int twice(int k){ int(*f)(int)=f2; if(k>0) f=f1; return (*f)(k)+(**f)(k+1); }
int loop(int n){ int(*f)(int)=f1; int s=1; for(int i=0;i<n;i++){ s=f(s)&1023; f=f2; } return s; }
static int apply(int (*f)(int), int n){ int s=0; for(int i=0;i<n;i++) s+=f(i); return s; }
int applied(int k,int n){ return apply(k?f1:f2,n)+apply(&f1,n); }
typedef int fn(int); typedef int (*fp)(int);
static int app2(fn f,int a){ return f(a); }
int app3(int k,int a){ fn *g=k?f1:f2; return app2(g,a); }
struct op{ const char *name; fp f; int k; };
static const struct op ops[]={{"one",f1,3},{"two",&f2,4}};
static int (*const tab[3])(int)={f1,f2,f1};
static fp now=f2;
int table(int i,int a){ return ops[i&1].f(a)+ops[i&1].name[1]+ops[i&1].k; }
int table2(int i,int a){ return tab[i](a)+(*tab[i])(a); }
int through(int a,int k){ if(k) now=f1; return now(a)+(now==f2)+(now?1:0); }
static double half(double x){ return x/2; }
static double dbl(double x){ return x*2; }
int fl(int k,int a){ double(*g)(double)=k?half:dbl; return (int)(g(a)*4); }
static fp pick(int k){ return k?f1:f2; }
int (*pick2(int k))(int){ return k>3?pick(k&1):f2; }
int picked(int k,int a){ return pick(k)(a)+pick2(k)(a); }
static void store(int *p,int v){ *p=v; } static void store2(int *p,int v){ *p=v*2; }
int out(int k){ int x=1; void(*s)(int*,int)=k?store:store2; s(&x,k+5); return x; }
static int cmp(const void *a,const void *b){ return *(const int*)a-*(const int*)b; }
static void sort(int *a,int n,int (*c)(const void*,const void*)){ for(int i=1;i<n;i++) for(int j=i;j>0&&c(a+j-1,a+j)>0;j--){ int t=a[j]; a[j]=a[j-1]; a[j-1]=t; } }
int sorted(int a,int b,int c){ int v[3]={a,b,c}; sort(v,3,cmp); return v[0]*10000+v[1]*100+v[2]; }
static int rec(int (*f)(int),int n){ return n==0?0:f(n)+rec(f,n-1); }
int recs(int k,int n){ return rec(k?f1:f2,n); }
