// Gives orders to brokers that were started with stop-at.ts: stop at a step of their work, or move the clock.

import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { CleanUp } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import type { BrokerProcess } from '../../testing/process.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import type { Order, Signal } from './order.ts'
import type { Run } from './run.ts'

/** A step comes within this time, because the work goes on all the time. */
const STEP_MS = 60_000

export interface Orders {
  /** Node flags of the brokers. */
  readonly nodeFlags: readonly string[]
  /** Resolves when the broker has taken the order. */
  give(broker: BrokerProcess, order: Partial<Order>): Promise<void>
  /**
   * Orders all brokers to stop at a step. Resolves with those that have stopped there: mostly one, the first. The
   * others go on.
   */
  stopAt(
    brokers: readonly BrokerProcess[],
    run: Run,
    stop: { step: string; nth: number; signal: Signal },
  ): Promise<readonly BrokerProcess[]>
}

/** Resolves when a process that was sent SIGSTOP has stopped. */
export async function standsStill(pid: number): Promise<void> {
  const isStopped = () => /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  await eventually(`process ${pid} stands still`, isStopped)
}

/** `steps` is the URL of a module of steps. */
export async function openOrders(cleanUp: CleanUp, steps: URL): Promise<Orders> {
  const folder = await temporaryFolder(cleanUp, 'ketch-orders-')
  const url = pathToFileURL(fileURLToPath(new URL('./stop-at.ts', import.meta.url)))
  url.searchParams.set('orders', folder)
  url.searchParams.set('steps', steps.href)

  async function give(broker: BrokerProcess, order: Partial<Order>, isOver = () => false): Promise<void> {
    const { pid } = broker
    const path = join(folder, String(pid))
    await writeFile(path, JSON.stringify({ stop: null, clockMs: 0, ...order }))
    try {
      process.kill(pid, 'SIGUSR2')
    } catch (error) {
      if (isOver()) return
      throw error
    }
    await eventually(`broker ${pid} takes its order`, () => isOver() || !existsSync(path), 60_000)
  }

  return {
    nodeFlags: [`--import=${url.href}`],
    give,
    async stopAt(brokers, run, stop) {
      const from = brokers.map(broker => broker.output().length)
      const hasStopped = (at: number) => brokers[at]!.output().includes(`stopped at: ${stop.step}\n`, from[at])
      const anyStopped = () => brokers.some((_, at) => hasStopped(at))
      await Promise.all(brokers.map((broker, at) => give(broker, { stop }, () => hasStopped(at))))
      await eventually(
        `a broker comes to the step: ${stop.step}`,
        async () => {
          await run.pause(10)
          return anyStopped()
        },
        STEP_MS,
      )
      const goOn = (broker: BrokerProcess, at: number) => give(broker, {}, () => hasStopped(at))
      await Promise.all(brokers.flatMap((broker, at) => (hasStopped(at) ? [] : [goOn(broker, at)])))
      const stopped = brokers.filter((_, at) => hasStopped(at))
      // A SIGCONT that comes before the SIGSTOP would be lost.
      if (stop.signal === 'SIGSTOP') for (const { pid } of stopped) await standsStill(pid)
      return stopped
    },
  }
}
