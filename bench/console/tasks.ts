// The tasks of a page's main thread, from a trace of the browser: how long each took, and how long it really ran. On a
// machine that others use too, a task waits for a processor, and only the second time is its own.

import type { Browser, Page } from 'playwright-core'

export interface Tasks {
  readonly longestMs: number
  /** The longest time on a processor, perhaps of another task. */
  readonly longestRanMs: number
  /** The time on a processor of all tasks. */
  readonly ranMs: number
}

interface TraceEvent {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  /** In µs. */
  readonly dur?: number
  /** On a processor, in µs. */
  readonly tdur?: number
  readonly args?: { readonly name?: string }
}

const TASK = 'RunTask'

/** Resolves with the tasks of the page while `act` ran. No other page may be open. */
export async function tasksOf(browser: Browser, page: Page, act: () => Promise<unknown>): Promise<Tasks> {
  await browser.startTracing(page, { categories: ['disabled-by-default-devtools.timeline'] })
  await act()
  const trace = JSON.parse((await browser.stopTracing()).toString()) as { readonly traceEvents: readonly TraceEvent[] }
  const isMain = new Set(
    trace.traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  )
  const tasks = trace.traceEvents.filter(
    ({ name, ph, pid, tid }) => name === TASK && ph === 'X' && isMain.has(`${pid} ${tid}`),
  )
  if (tasks.length === 0) throw new Error('the trace has no task of a page')
  const ran = tasks.map(({ tdur = 0 }) => tdur / 1000)
  return {
    longestMs: Math.max(...tasks.map(({ dur = 0 }) => dur)) / 1000,
    longestRanMs: Math.max(...ran),
    ranMs: ran.reduce((sum, each) => sum + each, 0),
  }
}
