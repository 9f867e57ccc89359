# needs node
node -e '
const {Worker,isMainThread,parentPort}=require("worker_threads");
let n=0;for(let i=0;i<4;i++){const w=new Worker("const{parentPort}=require(\"worker_threads\");let s=0;for(let i=0;i<1e6;i++)s+=i;parentPort.postMessage(s)",{eval:true});w.on("message",m=>{n+=m});w.on("exit",()=>{if(!--k)console.log(n)})}let k=4;
try{(function f(){f()})()}catch(e){console.log(e.name)}
const w=new WebAssembly.Module(new Uint8Array([0,97,115,109,1,0,0,0]));console.log("wasm")'
