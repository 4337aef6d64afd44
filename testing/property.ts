// fast-check with the seed of the run, so that each `npm test` finds the same failures. A property that fails prints
// how to repeat the failed case.

import fc from 'fast-check'
import { seed } from './seed.ts'

fc.configureGlobal({ seed })

export { fc }
