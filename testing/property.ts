// fast-check with the seed of the run, so that `npm test` finds today what it found yesterday. A property that fails
// prints how to repeat the one case.

import fc from 'fast-check'
import { seed } from './seed.ts'

fc.configureGlobal({ seed })

export { fc }
