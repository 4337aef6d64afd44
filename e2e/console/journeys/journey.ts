// A journey: one thing that a person does in the console, from the first page to the result that the broker confirms.

import type { Browser } from 'playwright-core'
import type { CleanUp } from '../../../testing/broker.ts'
import type { StoreName } from '../world.ts'

export interface Journey {
  readonly name: string
  run(given: { readonly t: CleanUp; readonly browser: Browser; readonly store: StoreName }): Promise<void>
}
