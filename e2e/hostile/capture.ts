// Writes testing/corpus/frames again: requests of real clients, recorded from the wire while they produce, consume
// and commit. It keeps a client's first few requests of each API and version, without large ones. Run it by hand when
// clients or APIs change: node scripts/run.mjs e2e/hostile/capture.ts

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FrameSplitter, requestFrames } from '../../src/kafka/connection/frame.ts'
import { startBroker } from '../../testing/broker.ts'
import { FRAMES, type Frame, joinFrames } from '../../testing/corpus.ts'
import { freePort } from '../../testing/process.ts'
import { startProxy } from '../../testing/proxy.ts'
import { createTopic } from '../../testing/topic.ts'
import { type Client, makeRecords } from '../client.ts'
import { javaConsole } from '../java/client.ts'
import { kafkaJs } from '../kafkajs/client.ts'
import { kcat } from '../kcat/client.ts'
import { confluentPython, kafkaPython } from '../python/client.ts'

const OF_EACH_KIND = 2
const LARGEST_BYTES = 1500

const clients: readonly Client[] = [kcat, kafkaJs, kafkaPython, confluentPython, javaConsole]

/** Returns the requests that the client sent. */
async function capture(client: Client): Promise<Frame[]> {
  const ends: (() => Promise<void>)[] = []
  const cleanUp = { after: (fn: () => Promise<void>) => void ends.push(fn) }
  try {
    const port = await freePort()
    const frames: Frame[] = []
    const splitters = new Map<number, FrameSplitter>()
    const sink = { frame: (frame: Frame) => frames.push(frame) > 0, fault: () => {}, held: () => {} }
    const proxy = await startProxy({
      target: { port },
      observe(connection, bytes) {
        if (!splitters.has(connection)) splitters.set(connection, new FrameSplitter(() => requestFrames(2 ** 24), sink))
        splitters.get(connection)!.push(bytes)
      },
    })
    cleanUp.after(() => proxy.close())
    await startBroker(cleanUp, { 'broker.port': port, 'broker.advertised-port': proxy.port })
    await createTopic({ port }, 'captured', 2)
    const records = makeRecords({ count: 60, partitions: 2, codecs: client.codecs, seed: 1, textOnly: true })
    await client.produce(`127.0.0.1:${proxy.port}`, 'captured', records)
    await client.consume(`127.0.0.1:${proxy.port}`, 'captured', 'captured-group', records.length)
    return frames
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

/** Keeps the first few frames of each API key and version, which are the first four bytes of a frame. */
function varied(frames: readonly Frame[]): Frame[] {
  const kept = new Map<number, number>()
  return frames.filter(frame => {
    const kind = frame.readUInt32BE(0)
    const count = kept.get(kind) ?? 0
    if (count === OF_EACH_KIND || frame.length > LARGEST_BYTES) return false
    kept.set(kind, count + 1)
    return true
  })
}

mkdirSync(FRAMES, { recursive: true })
for (const client of clients) {
  const absence = client.absence()
  if (absence !== null) {
    console.log(`${client.name} keeps its old frames: ${absence}`)
    continue
  }
  const frames = varied(await capture(client))
  writeFileSync(join(FRAMES, client.name), joinFrames(frames))
  console.log(`${client.name}: ${frames.length} frames`)
}
process.exit(0)
