// Measures the embedded store alone, in one process: the rate of 64 KiB appends compared with the rate that the disk
// allows. The ceiling is a loop over a preallocated file: one writev and one fdatasync for all batches in flight.
// Run: node_modules/.bin/node bench/store.ts [--mb=400] [--runs=3] [--churn=<MB live in 200 streams>]
// [--folder=<path>]

import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { systemClock } from '../src/base/clock.ts'
import { openEmbeddedStore } from '../src/store/embedded/embedded-store.ts'
import { exampleAppend, exampleBatch } from '../src/store/examples.ts'
import type { Store } from '../src/store/store.ts'

const BATCH_BYTES = 64 << 10
const argument = (name: string, fallback: string) =>
  process.argv.find(each => each.startsWith(`--${name}=`))?.slice(name.length + 3) ?? fallback
const totalMb = Number(argument('mb', '400'))
const runs = Number(argument('runs', '3'))
const churnMb = Number(argument('churn', '0'))
const folder = fs.mkdtempSync(join(argument('folder', tmpdir()), 'ketch-bench-'))

const writev = promisify(fs.writev)
const fdatasync = promisify(fs.fdatasync)
const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1]!

/** Resolves with the MB/s of writes to a preallocated file that was written before. */
async function measureDisk(inFlight: number, sync: boolean, fd: number, bytes: number): Promise<number> {
  const batches = Array.from({ length: inFlight }, () => Buffer.alloc(BATCH_BYTES, 7))
  const began = performance.now()
  let done = 0
  while (done < bytes) {
    await writev(fd, batches, done)
    if (sync) await fdatasync(fd)
    done += inFlight * BATCH_BYTES
  }
  return done / 1e3 / (performance.now() - began)
}

interface Measured {
  readonly mbPerSecond: number
  readonly mainMicrosPerAppend: number
}

/** Appends in closed loops, each with a stream of its own. */
async function measureStore(store: Store, inFlight: number, bytes: number, name: string): Promise<Measured> {
  const streams = Array.from({ length: inFlight }, (_, i) => `${name}:${i}`)
  await store.create(streams)
  let left = Math.round(bytes / BATCH_BYTES)
  const appends = left
  const loops = await Promise.all(
    streams.map(async stream => {
      const opened = await store.open(stream, 0, 0)
      if (opened.kind !== 'opened') throw new Error(opened.kind)
      return { stream, batch: exampleBatch(0, 1, BATCH_BYTES) }
    }),
  )
  const began = performance.now()
  const loopBefore = performance.eventLoopUtilization()
  await Promise.all(
    loops.map(async ({ stream, batch }) => {
      for (let at = 0; left > 0; at++) {
        left--
        // The batch's CRC does not cover the base offset. The earlier append is acknowledged, so its bytes may
        // change.
        Buffer.from(batch.bytes.buffer, batch.bytes.byteOffset, 8).writeBigInt64BE(BigInt(at))
        const outcome = await store.append(
          exampleAppend(stream, 1, at, [{ ...batch, baseOffset: at, nextOffset: at + 1 }]),
        )
        if (outcome.kind !== 'appended') throw new Error(JSON.stringify(outcome))
      }
    }),
  )
  const ms = performance.now() - began
  const { active } = performance.eventLoopUtilization(loopBefore)
  return { mbPerSecond: (appends * BATCH_BYTES) / 1e3 / ms, mainMicrosPerAppend: (active * 1e3) / appends }
}

async function openStore(name: string, fsync: 'always' | 'interval'): Promise<Store> {
  return openEmbeddedStore({
    path: join(folder, name),
    fsync,
    fsyncIntervalMs: 50,
    clock: systemClock,
    report: message => console.log(message),
  })
}

/**
 * Fills the streams, then goes on while it trims the oldest entries. Prints the rate of each turn over the live size.
 */
async function churn(liveMb: number): Promise<void> {
  const store = await openStore('churn', 'always')
  const streams = Array.from({ length: 200 }, (_, i) => `churn:${i}`)
  await store.create(streams)
  for (const stream of streams) await store.open(stream, 0, 0)
  const perStream = Math.ceil((liveMb * 1e6) / BATCH_BYTES / streams.length)
  const rates: number[] = []
  for (let turn = 0; turn < 4; turn++) {
    const began = performance.now()
    let next = 0
    const total = perStream * streams.length
    await Promise.all(
      Array.from({ length: 40 }, async () => {
        const batch = exampleBatch(0, 1, BATCH_BYTES)
        while (next < total) {
          const number = next++
          const stream = streams[number % streams.length]!
          const at = turn * perStream + Math.floor(number / streams.length)
          Buffer.from(batch.bytes.buffer, batch.bytes.byteOffset, 8).writeBigInt64BE(BigInt(at))
          const outcome = await store.append(
            exampleAppend(stream, 1, at, [{ ...batch, baseOffset: at, nextOffset: at + 1 }]),
          )
          if (outcome.kind !== 'appended') throw new Error(`${stream} ${at} ${JSON.stringify(outcome)}`)
          if (at % 8 === 0 && at > perStream) await store.trim(stream, 1, at - perStream, [])
        }
      }),
    )
    rates.push((total * BATCH_BYTES) / 1e3 / (performance.now() - began))
  }
  const used = fs
    .readdirSync(join(folder, 'churn'))
    .reduce((sum, name) => sum + fs.statSync(join(folder, 'churn', name)).size, 0)
  console.log(
    `churn, ${liveMb} MB live in 200 streams: ${rates.map(rate => rate.toFixed(0)).join(', ')} MB/s a turn; folder ${(used / 1e6).toFixed(0)} MB`,
  )
  const closing = performance.now()
  await store.close()
  console.log(`closed in ${(performance.now() - closing).toFixed(0)} ms`)
  const opening = performance.now()
  const again = await openStore('churn', 'always')
  console.log(`opened again in ${(performance.now() - opening).toFixed(0)} ms`)
  await again.close()
}

try {
  const bytes = totalMb * 1e6
  const fd = fs.openSync(join(folder, 'ceiling'), 'w+')
  await measureDisk(40, true, fd, bytes) // so that the file's blocks are written
  for (const inFlight of [5, 40]) {
    for (const fsync of ['always', 'interval'] as const) {
      const disk: number[] = []
      const measured: Measured[] = []
      const store = await openStore(`${fsync}-${inFlight}`, fsync)
      for (let run = 0; run < runs; run++) {
        disk.push(await measureDisk(inFlight, fsync === 'always', fd, bytes))
        measured.push(await measureStore(store, inFlight, bytes, `run${run}`))
        await store.remove(Array.from({ length: inFlight }, (_, i) => `run${run}:${i}`))
      }
      await store.close()
      fs.rmSync(join(folder, `${fsync}-${inFlight}`), { recursive: true })
      const rates = measured.map(each => each.mbPerSecond)
      const all = rates.map(rate => rate.toFixed(0)).join(' ')
      const store50 = median(rates)
      const disk50 = median(disk)
      console.log(
        `${fsync.padEnd(8)} ${String(inFlight).padStart(2)} in flight: store ${store50.toFixed(0)} MB/s (${all}), file ${disk50.toFixed(0)} MB/s, ` +
          `ratio ${(store50 / disk50).toFixed(2)}, main thread ${median(measured.map(each => each.mainMicrosPerAppend)).toFixed(0)} µs an append`,
      )
    }
  }
  fs.closeSync(fd)
  if (churnMb > 0) await churn(churnMb)
} finally {
  fs.rmSync(folder, { recursive: true, force: true })
}
