// A journey: one thing that a person does in the console, from the first page to the result that the broker confirms.

import type { Browser } from 'playwright-core'
import type { CleanUp } from '../../../testing/broker.ts'
import type { StoreName } from '../world.ts'

export interface Journey {
  readonly name: string
  /** The stores on which it is possible; all of them by default. */
  readonly stores?: readonly StoreName[]
  /** Why it cannot run on this machine; false if it can. */
  readonly skip?: string | false
  run(given: { readonly t: CleanUp; readonly browser: Browser; readonly store: StoreName }): Promise<void>
}
