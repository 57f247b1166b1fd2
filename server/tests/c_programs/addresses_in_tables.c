static const char *const names[3]={"ab","cde","f"};
int nstr(int i){ return names[i][0]*256+names[i][1]; }
int nstr2(int i){ return names[i][0]+names[2-i][0]; }
static int v[3]={1,2,3}; static int *pv[2]={v,v+2}; struct T{const char*n;int k;}; static const struct T tt[2]={{"x",1},{"y",2}};
int g(int i){ return *pv[i]; }
int set(int i,int x){ pv[i&1]=&v[1]; *pv[i&1]+=x; return v[1]*10+*pv[0]; }
int h(int i){ return tt[i].n[0]+tt[i].k; }
int gx=5; int *gp=&gx; int **gpp=&gp; const char *msg="hello"; const char *tail="hello"+2; char arr[]="wor";
int f(int k){ **gpp+=k; return *gp+msg[1]+tail[0]+arr[2]; }
struct node { int v; struct node *next; };
static struct node n1, n3={3,&n1}, n2={2,&n3}; static struct node n1={1,&n2};
int walk(int k){ struct node *p=&n1; int s=0; for(int i=0;i<k;i++){ s=s*3+p->v; p=p->next; } return s; }
static int sq(int x){ return x*x; } static int ng(int x){ return -x; }
static struct { int id; int (*run)(int); const char *name[2]; } cmds[]={{1,sq,{"s","q"}},{2,ng,{"n",0}},[3]={9,sq,{[1]="zz"}}};
int cmd(int i,int x){ return cmds[i].run?cmds[i].run(x)*cmds[i].id+(cmds[i].name[1]?cmds[i].name[1][0]:7):-1; }
int local(int i){ static const char *const t[]={"one","two"}; static int w[4]={5,6,7,8}; static int *const q=&w[3]; static const int *const r[2]={w+1,&w[2]}; return t[i][1]+*q+*r[i]; }
static const char text[2][4]={"abc","def"}; static const char *const pt[]={text[1],&text[0][1]};
int tx(int i){ return pt[i][0]; }
static int m2[2][3]={{1,2,3},{4,5,6}}; static int (*const pm)[3]=&m2[1]; static int *const pm2=&m2[1][2];
int mm(int i){ return (*pm)[i]+*pm2; }
#pragma pack(1)
struct P{char c; const char *s;};
#pragma pack()
static const struct P ps[2]={{1,"pq"},{2,"rs"}};
int pk(int i){ return ps[i].s[1]+ps[i].c; }
static long dist=(long)sizeof(v); static unsigned long ad=(unsigned long)&v[2]; 
int adr(int i){ return *(int*)(ad-i*4)+dist; }
static float ff[3]={1.5f,2,3}; static double *const none=0; static float *fp[2]={ff,ff+1};
int fl(int i){ return (int)(*fp[i]*4)+(none==0); }
int sym(int k){ const char *s=k?"yes":"no"; return s[1]; }
