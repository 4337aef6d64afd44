// A module for a broker that a test starts (`--import stop-at.ts?orders=FOLDER`). It stops the broker at a step of the
// cleaner (steps.ts) and moves its system clock. At SIGUSR2 it takes its order from the file FOLDER/<process id> and
// removes the file. The broker ends unless each text of steps.ts occurs exactly once.

import { readFileSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { changeSource } from '../change-source.ts'
import { LIMITS, type Order, PLACES } from './steps.ts'

const folder = new URL(import.meta.url).searchParams.get('orders')!
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

changeSource(changes, 'steps.ts')
