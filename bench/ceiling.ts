// The ceiling of the storage design: one Node thread that reads frames from TCP, checks the CRC of the batch,
// answers, and stores nothing. For fetches it writes prepared slices. A benchmark of the broker measures the cost of
// everything that the broker does beyond this. The mode `park` lets every fetch wait for its time and then sends an
// answer without records. It shows the cost of many waiting consumers without any broker. The program prints the port
// it listens on.
//
// A broker that keeps a frame must copy it once out of the socket's chunks into memory of its own. `own` does this
// with the broker's splitter, as in the storage design. `shared` reads all frames into one piece of memory, which no
// broker can do, and shows the cost of the copies.
//
//   node bench/ceiling.ts produce [--framing own|shared]
//   node bench/ceiling.ts fetch --batch-bytes 65536 --record-bytes 1024 --fetch-bytes 1048576
//   node bench/ceiling.ts park --topic parked --partitions 100

import { createServer } from 'node:net'
import { parseArgs } from 'node:util'
import { crc32c } from '../src/base/crc32c.ts'
import { FrameSplitter, requestFrames } from '../src/kafka/connection/frame.ts'
import {
  batchIn,
  correlationOf,
  fetchedHead,
  frameReader,
  PARKED_MS,
  parkedResponse,
  prepareBatch,
  producedResponse,
} from './frames.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'batch-bytes': { type: 'string', default: '65536' },
    'record-bytes': { type: 'string', default: '1024' },
    'fetch-bytes': { type: 'string', default: '1048576' },
    framing: { type: 'string', default: 'own' },
    topic: { type: 'string', default: 'bench' },
    partitions: { type: 'string', default: '100' },
  },
})
const [mode] = positionals
if (mode !== 'produce' && mode !== 'fetch' && mode !== 'park') {
  throw new Error(`the mode must be produce, fetch or park, got ${mode}`)
}

if (values.framing !== 'own' && values.framing !== 'shared') throw new Error('--framing must be own or shared')

/**
 * The position of the correlation id: in a request (without its size) after key and version, in a response after the
 * size.
 */
const CORRELATION_IN_REQUEST = 4
const CORRELATION_IN_RESPONSE = 4

/** Calls `onFrame` with each frame of a stream of chunks. A frame does not include its size. */
function framesOf(onFrame: (frame: Buffer) => void): (chunk: Buffer) => void {
  if (values.framing === 'shared') return frameReader(frame => onFrame(frame.subarray(4)))
  const splitter = new FrameSplitter(() => requestFrames(Number.MAX_SAFE_INTEGER), {
    frame(bytes) {
      onFrame(bytes)
      return true
    },
    fault({ message }) {
      throw new Error(message)
    },
    held() {},
  })
  return chunk => void splitter.push(chunk)
}

const produced = producedResponse(values.topic)
const batch = prepareBatch(Number(values['batch-bytes']), Number(values['record-bytes']))
const slices = Array.from({ length: Math.floor(Number(values['fetch-bytes']) / batch.length) }, () =>
  Buffer.from(batch),
)
const fetched = fetchedHead(
  values.topic,
  slices.reduce((sum, slice) => sum + slice.length, 0),
)
const parked = parkedResponse(values.topic, Number(values.partitions))

const server = createServer(socket => {
  socket.setNoDelay(true)
  socket.on('error', () => socket.destroy())
  socket.on(
    'data',
    framesOf(frame => {
      const correlationId = frame.readInt32BE(CORRELATION_IN_REQUEST)
      if (mode === 'produce') {
        const sent = batchIn(frame)
        if (crc32c(sent.subarray(21)) !== sent.readUInt32BE(17)) throw new Error('a batch arrived damaged')
        const response = Buffer.from(produced)
        response.writeInt32BE(correlationId, CORRELATION_IN_RESPONSE)
        socket.write(response)
        return
      }
      if (mode === 'park') {
        const response = Buffer.from(parked)
        response.writeInt32BE(correlationId, CORRELATION_IN_RESPONSE)
        setTimeout(() => void socket.write(response), PARKED_MS)
        return
      }
      const head = Buffer.from(fetched)
      head.writeInt32BE(correlationId, CORRELATION_IN_RESPONSE)
      socket.cork()
      socket.write(head)
      for (const slice of slices) socket.write(slice)
      socket.uncork()
    }),
  )
})
// This check runs once, so that a mistake in the prepared answers is not measured as speed.
if (correlationOf(produced) !== 0) throw new Error('the prepared answer is wrong')
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no TCP port')
  console.log(`listening on 127.0.0.1:${address.port}`)
})
