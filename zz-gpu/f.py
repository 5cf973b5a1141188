import torch, triton, triton.language as tl
@triton.jit
def k(a,b,oa,ob,oc,N,D:tl.constexpr,B:tl.constexpr,P:tl.constexpr,S:tl.constexpr):
    sa=tl.zeros((D,),tl.float32); sb=tl.zeros((D,D),tl.float32); sc=tl.zeros((B,B),tl.float32)
    for i in tl.range(0,tl.cdiv(N,B),num_stages=S):
        r=i*B+tl.arange(0,B); c=tl.arange(0,D); o=r[:,None]*D+c[None,:]
        x=tl.load(a+o); y=tl.load(b+o)
        if P==0:
            sa+=tl.sum(x.to(tl.float32),axis=0); sb+=tl.dot(tl.trans(x),y)
        elif P==1:
            sb+=tl.dot(tl.trans(x),y)
        elif P==2:
            sa+=tl.sum(y.to(tl.float32),axis=0); sb+=tl.dot(tl.trans(x),y)
        elif P==3:
            sa+=tl.sum(x.to(tl.float32),axis=0); sc+=tl.dot(x,tl.trans(y))
        elif P==4:
            sc+=tl.dot(x,tl.trans(y)); sb+=tl.dot(tl.trans(x),y)
        elif P==5:
            sa+=tl.sum(y.to(tl.float32),axis=0); sc+=tl.dot(x,tl.trans(y))
        elif P==6:
            sb+=tl.dot(tl.trans(x),y); sa+=tl.sum(x.to(tl.float32),axis=0)
        elif P==7:
            sa+=tl.sum(x.to(tl.float32),axis=0); x2=tl.load(a+o); sb+=tl.dot(tl.trans(x2),y)
        elif P==8:
            sa+=tl.sum(x.to(tl.float32),axis=0); sb+=tl.dot(tl.trans(x),y); tl.debug_barrier()
    c=tl.arange(0,D); tl.store(oa+c,sa); tl.store(ob+c[:,None]*D+c[None,:],sb)
    d=tl.arange(0,B); tl.store(oc+d[:,None]*B+d[None,:],sc)
names=["trans+sum","trans only","rhs+sum","lhs+sum","both dots","rhs trans+sum","sum after","two loads","barrier"]
torch.manual_seed(0)
for dt in (torch.float16, torch.bfloat16):
  for D,B in ((128,64),(64,64),(128,128)):
    N=B*64
    a=torch.randint(-3,4,(N,D),device="cuda").to(dt); b=torch.randint(-3,4,(N,D),device="cuda").to(dt)
    for P in range(9):
        res=[]
        for S in (1,2,3,4):
          for W in (4,8):
            try:
                oa=torch.zeros(D,device="cuda"); ob=torch.zeros(D,D,device="cuda"); oc=torch.zeros(B,B,device="cuda")
                bad=0
                for rep in range(20):
                    k[(1,)](a,b,oa,ob,oc,N,D,B,P,S,num_warps=W)
                    ea=(a if P in (0,3,6,7,8) else b).float().sum(0) if P in (0,2,3,5,6,7,8) else torch.zeros(D,device="cuda")
                    eb=a.float().T@b.float() if P in (0,1,2,4,6,7,8) else torch.zeros(D,D,device="cuda")
                    ec=sum(a[i:i+B].float()@b[i:i+B].float().T for i in range(0,N,B)) if P in (3,4,5) else torch.zeros(B,B,device="cuda")
                    bad+= int(not (torch.equal(oa,ea) and torch.equal(ob,eb) and torch.equal(oc,ec)))
                res.append((S,W,bad))
            except Exception as e: res.append((S,W,type(e).__name__))
        print(dt,D,B,names[P],[r for r in res if r[2]!=0], flush=True)
