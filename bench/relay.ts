// Forwards every byte between a client and Redis and stores nothing. It shows the least that a Node process between
// the two costs. It prints the port it listens on.
//
//   node bench/relay.ts --to 6379

import { connect, createServer, type Socket } from 'node:net'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { to: { type: 'string' } } })
const to = Number(values.to)
if (!Number.isInteger(to) || to < 1) throw new Error(`--to takes a port, got ${values.to}`)

function pass(from: Socket, on: Socket): void {
  from.setNoDelay(true)
  from.on('data', chunk => void on.write(chunk))
  from.on('close', () => on.destroy())
  from.on('error', () => from.destroy())
}

const server = createServer(client => {
  const redis = connect({ host: '127.0.0.1', port: to })
  pass(client, redis)
  pass(redis, client)
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no TCP port')
  console.log(`listening on 127.0.0.1:${address.port}`)
})
