// An HTTP server and its client: node_http.js server PORT [WORKERS]
//                                node_http.js client PORT READY GATE
//
// The server answers GET /N with N bytes that depend on N alone, and POST with the checksum of what
// was posted. With workers it is a cluster: the first process accepts and passes the connections.
// The client prints what came back; between two of its rounds it creates the file READY and keeps
// its connections until the file GATE exists.
'use strict';

const cluster = require('cluster');
const crypto = require('crypto');
const fs = require('fs');
const http = require('http');

const SIZES = [0, 1, 1000, 65537, 1000000, 3000000];
const CONNECTIONS = 4;
const GATE_POLL_MS = 20;

function content(bytes) {
  return Buffer.alloc(bytes, crypto.createHash('sha512').update(String(bytes)).digest());
}

function sha256(data) {
  return crypto.createHash('sha256').update(data).digest('hex');
}

function serve(port) {
  const server = http.createServer((request, response) => {
    if (request.method === 'GET') {
      response.end(content(Number(request.url.slice(1))));
      return;
    }
    const hash = crypto.createHash('sha256');
    request.on('data', (block) => hash.update(block));
    request.on('end', () => response.end(hash.digest('hex')));
  });
  // Connections of the client are not closed while a test looks at them.
  server.keepAliveTimeout = 0;
  server.listen(port, '127.0.0.1');
}

function serveWithWorkers(port, workers) {
  if (!cluster.isMaster) {
    serve(port);
    return;
  }
  cluster.schedulingPolicy = cluster.SCHED_RR;
  for (let i = 0; i < workers; ++i) cluster.fork();
  process.on('SIGTERM', () => {
    for (const worker of Object.values(cluster.workers)) worker.process.kill();
    process.exit(0);
  });
}

function ask(agent, port, method, path, body) {
  return new Promise((resolve, reject) => {
    const options = {agent, host: '127.0.0.1', port, method, path};
    const request = http.request(options, (response) => {
      const blocks = [];
      response.on('data', (block) => blocks.push(block));
      response.on('end', () => resolve(Buffer.concat(blocks)));
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end(body);
  });
}

async function round(agent, port) {
  const lines = await Promise.all(SIZES.map(async (bytes) => {
    const got = await ask(agent, port, 'GET', `/${bytes}`);
    const posted = await ask(agent, port, 'POST', '/', content(bytes));
    if (!got.equals(content(bytes)) || String(posted) !== sha256(content(bytes))) {
      throw new Error(`${bytes} bytes came back changed`);
    }
    return `${bytes} ${sha256(got)} ${posted}`;
  }));
  console.log(lines.join('\n'));
}

async function client(port, ready, gate) {
  const agent = new http.Agent({keepAlive: true, maxSockets: CONNECTIONS});
  await round(agent, port);
  fs.writeFileSync(ready, '');
  while (!fs.existsSync(gate)) await new Promise((wake) => setTimeout(wake, GATE_POLL_MS));
  await round(agent, port);
  agent.destroy();
}

const [kind, port, ...rest] = process.argv.slice(2);
if (kind === 'client') {
  client(Number(port), ...rest);
} else if (rest.length > 0) {
  serveWithWorkers(Number(port), Number(rest[0]));
} else {
  serve(Number(port));
}
