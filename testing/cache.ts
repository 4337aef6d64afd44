// Where things that tests download or build are kept, each under a name with its version: in .cache of the checkout, or
// in the folder that KETCH_CACHE names, which several checkouts can share.

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const CACHE = process.env.KETCH_CACHE ?? join(fileURLToPath(new URL('..', import.meta.url)), '.cache')
