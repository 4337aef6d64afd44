// A module for a broker that a test starts (`--import stop-at.ts?orders=FOLDER&steps=MODULE`). It stops the broker at a
// step of that module (order.ts) and moves its system clock. At SIGUSR2 it takes its order from the file
// FOLDER/<process id> and removes the file. The broker ends unless each text of the steps occurs exactly once.

import { readFileSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { changeSource } from './change-source.ts'
import type { Order, Steps } from './order.ts'

const { searchParams } = new URL(import.meta.url)
const folder = searchParams.get('orders')!
const steps = searchParams.get('steps')!
const { LIMITS, PLACES }: Steps = await import(steps)
let order: Order = { stop: null, clockMs: 0 }
let left = 0

const changes = [
  ...LIMITS,
  ...PLACES.map(({ step, file, text, instead }) => ({
    file,
    text,
    instead: instead
      .replaceAll('STOP', `globalThis.stopAt(${JSON.stringify(step)})`)
      .replaceAll('IS_ORDERED', `globalThis.isToStopAt(${JSON.stringify(step)})`),
  })),
]

if (isMainThread) {
  const now = Date.now
  Date.now = () => now() + order.clockMs
  process.on('SIGUSR2', () => {
    const path = join(folder, String(process.pid))
    order = JSON.parse(readFileSync(path, 'utf8'))
    left = order.stop?.nth ?? 0
    unlinkSync(path)
  })
}

Object.assign(globalThis, {
  isToStopAt: (step: string) => order.stop?.step === step,
  stopAt(step: string) {
    if (order.stop?.step !== step || --left > 0) return
    const { signal } = order.stop
    order = { ...order, stop: null }
    // The pipe has the line before the process stops.
    writeSync(1, `stopped at: ${step}\n`)
    process.kill(process.pid, signal)
  },
})

changeSource(changes, steps)
