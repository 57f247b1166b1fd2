//! Whole programs of C on the simulator, against the host's compiler: what calls, addresses and tables come to.
//!
//! Without a compiler the tests say so and pass; continuous integration installs one.

#[path = "support/command.rs"]
mod command;
#[path = "support/host.rs"]
mod host;

use command::Place;
use host::agree;

#[test]
fn functions_that_call_themselves_end() {
    let source = "\
int rec(int k){ return k<2 ? k : rec(k-1)+rec(k-2); }
int sumrec(int k){ if(k==0) return 0; return k+sumrec(k-1); }
static void hanoi(int k,int *c){ if(k==0) return; hanoi(k-1,c); (*c)++; hanoi(k-1,c); }
int moves(int k){ int c=0; hanoi(k,&c); return c; }
static long pw(long b,int e){ if(e==0) return 1; long h=pw(b,e/2); return e%2?h*h*b:h*h; }
long power(long b,int e){ return pw(b,e); }
int collatz(int k){ return k==1?0:1+collatz(k%2?3*k+1:k/2); }
static int odd(int k);
static int even(int k){ if(k==0) return 1; return odd(k-1); }
static int odd(int k){ if(k==0) return 0; return even(k-1); }
int parity(int k){ return odd(k)*2+even(k); }
static int ack(int m,int k){ if(m==0) return k+1; if(k==0) return ack(m-1,1); return ack(m-1,ack(m,k-1)); }
int ackermann(int m,int k){ return ack(m,k); }
int third(int k); int first(int k); int second(int k){ return k<1?2:third(k-1)+1; }
int first(int k){ return k<1?1:second(k-1)*2; }
int third(int k){ return k<1?3:first(k-1)-second(k/2); }
";
    let mut calls: Vec<(&str, Vec<i64>)> = Vec::new();
    for k in 0..10 {
        calls.push(("rec", vec![k]));
        calls.push(("sumrec", vec![k]));
        calls.push(("moves", vec![k]));
        calls.push(("power", vec![3, k]));
        calls.push(("collatz", vec![k + 1]));
        calls.push(("parity", vec![k]));
        calls.push(("ackermann", vec![k % 3, k]));
        calls.push(("first", vec![k]));
    }
    agree(&Place::new("recursion"), source, &calls);
}
