// A process that writes to an embedded store until it is killed, and prints every acknowledged change. kill.test.ts
// of the embedded store runs it. To run it alone: node testing/store-writer.ts <folder> <always|interval>
//
// Every line is JSON: { stream, end } after an append, { document, version } after a commit, { start } after a trim.

import { writeSync } from 'node:fs'
import { stayAlive, systemClock } from '../src/base/clock.ts'
import { openEmbeddedStore } from '../src/store/embedded/embedded-store.ts'
import { exampleAppend, exampleBatch } from '../src/store/examples.ts'

const [path = '', fsync = 'always'] = process.argv.slice(2)
/** Prints one line. The reader may be slower than the store, so the write to a full pipe is repeated. */
function say(line: object): void {
  const bytes = Buffer.from(`${JSON.stringify(line)}\n`)
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    }
  }
}

// As in a broker: the timers of the store do not keep a process alive that only waits for them.
stayAlive()
const store = await openEmbeddedStore({
  path,
  fsync: fsync === 'interval' ? 'interval' : 'always',
  fsyncIntervalMs: 20,
  journalFileBytes: 1 << 20,
  clock: systemClock,
  report: message => say({ message }),
})

async function writeStream(stream: string): Promise<void> {
  await store.create([stream])
  const opened = await store.open(stream, 0, 0)
  if (opened.kind !== 'opened') throw new Error(`${stream}: ${opened.kind}`)
  let at = opened.end
  for (;;) {
    const batches = [exampleBatch(at, 2, 3_000, opened.epoch), exampleBatch(at + 2, 1, 20_000, opened.epoch)]
    const rows = [{ key: 'end', value: Buffer.from(String(at + 3)) }]
    const outcome = await store.append(exampleAppend(stream, opened.epoch, at, batches, rows))
    if (outcome.kind !== 'appended') throw new Error(`${stream}: ${JSON.stringify(outcome)}`)
    at = outcome.end
    say({ stream, end: at })
    if (at % 60 === 0) {
      const trimmed = await store.trim(stream, opened.epoch, at - 45, [])
      if (trimmed.kind === 'trimmed') say({ stream, start: trimmed.start })
    }
  }
}

async function writeDocument(name: string): Promise<void> {
  for (let version = (await store.load('k', name))?.version ?? 0; ; ) {
    const outcome = await store.commit({
      kind: 'k',
      name,
      expect: version,
      changes: [{ key: 'f', value: Buffer.of(1) }],
    })
    if (outcome.kind !== 'committed') throw new Error(JSON.stringify(outcome))
    version = outcome.version
    say({ document: name, version })
  }
}

await Promise.all([
  ...Array.from({ length: 8 }, (_, i) => writeStream(`AAAAAAAAAAAAAAAAAAAAAQ:${i}`)),
  writeDocument('a'),
  writeDocument('b'),
])
