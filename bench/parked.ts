// Consumers that wait, in a process of their own: many connections, each with one Fetch parked on many partitions
// that get no records. With --sessions they use fetch sessions, as the Java client does. Without it, each request
// names all partitions again, as the requests of librdkafka and kafkajs do. The program prints `parked` when each
// connection has got its first answer, and runs until it is killed.
//
//   node bench/parked.ts --port 9092 --topic parked --partitions 100 --connections 2000 [--sessions]

import { connect } from 'node:net'
import { parseArgs } from 'node:util'
import { frameReader, parkingRequest, readSession, setSession } from './frames.ts'

/** Smaller than the kernel's queue of connections that the listener has not accepted yet. */
const CONNECTING_AT_ONCE = 100

const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    topic: { type: 'string', default: 'parked' },
    partitions: { type: 'string', default: '100' },
    connections: { type: 'string', default: '2000' },
    sessions: { type: 'boolean', default: false },
  },
})
if (values.port === undefined) throw new Error('--port is missing')
const port = Number(values.port)
const connections = Number(values.connections)

const full = parkingRequest(values.topic, Number(values.partitions), values.sessions ? 0 : -1)
const further = parkingRequest(values.topic, 0, 0)
let begun = 0
let answered = 0

function refuse(what: string): never {
  console.error(`the broker answered ${what}`)
  process.exit(1)
}

function park(): void {
  begun++
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let epoch = 0
  socket.on('connect', () => {
    socket.write(full)
    if (begun < connections) park()
  })
  socket.on('error', error => refuse(`with a broken connection: ${error.message}`))
  socket.on('close', () => refuse('by closing a connection'))
  socket.on(
    'data',
    frameReader(response => {
      const { error, sessionId } = readSession(response)
      if (error !== 0) refuse(`error ${error} to a Fetch`)
      if (epoch === 0 && ++answered === connections) console.log('parked')
      epoch++
      if (sessionId === 0) {
        socket.write(full)
        return
      }
      const request = Buffer.from(further)
      setSession(request, sessionId, epoch)
      socket.write(request)
    }, 4096),
  )
}

for (let i = 0; i < Math.min(CONNECTING_AT_ONCE, connections); i++) park()
