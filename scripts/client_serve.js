// A client as editors have it (npm's vscode-jsonrpc) against a running `cortex serve`: see check-serve.sh. Argument: the socket.
const net = require('net');
const rpc = require('vscode-jsonrpc/node');

function check(what, condition, found) {
  if (!condition) {
    console.error(`client_serve.js: ${what}: ${JSON.stringify(found)}`);
    process.exit(1);
  }
}

async function main() {
  const socket = net.createConnection(process.argv[2]);
  const connection = rpc.createMessageConnection(new rpc.SocketMessageReader(socket), new rpc.SocketMessageWriter(socket));
  connection.listen();

  const named = await connection.sendRequest('GetOutline', { path: 'NodeStore' });
  check('arguments by name', named.resolved.path === 'MemoTree.Core.NodeStore', named);
  const placed = await connection.sendRequest('GetOutline', 'NodeStore');
  check('arguments by position', placed.outlineText === named.outlineText, placed);

  const refused = await connection.sendRequest('GetOutline', { path: 'NodeStroe' }).catch((error) => error);
  check('an error with data', refused.data && refused.data.suggestions.length > 0, refused);
  const unknown = await connection.sendRequest('NoSuchMethod', {}).catch((error) => error);
  check('an unknown method', unknown.code === rpc.ErrorCodes.MethodNotFound, unknown);

  const all = await Promise.all(Array.from({ length: 100 }, () => connection.sendRequest('GetOutline', { path: 'NodeId' })));
  check('a hundred at once', all.every((one) => one.resolved.path === 'MemoTree.Core.NodeId'), all.length);

  const events = [];
  const type = new rpc.ProgressType();
  connection.onProgress(type, 'events', (values) => events.push(...values));
  const begun = await connection.sendRequest('Investigate', { question: 'How are nodes moved?', scopePaths: ['MemoTree.Core'] });
  const source = new rpc.CancellationTokenSource();
  const stream = await connection.sendRequest('StreamOp', { opId: begun.opId, partialResultToken: 'events' }, source.token);
  check('a stream of events', stream.finished && events.length >= 3, { stream, events });

  const early = new rpc.CancellationTokenSource();
  const waits = connection.sendRequest('GetOutline', { path: 'NodeTree' }, early.token).catch((error) => error);
  early.cancel();
  const ended = await waits;
  check('a cancelled request', ended.resolved || ended.code === -32800, ended);

  connection.dispose();
  socket.destroy();
  console.log('vscode-jsonrpc: requests, errors, streams and cancellation as expected');
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
