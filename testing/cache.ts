// The folder for things that tests download or build, each under a name with its version. It is .cache in the
// checkout, or the folder that KETCH_CACHE names; several checkouts can share this folder.

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const CACHE = process.env.KETCH_CACHE ?? join(fileURLToPath(new URL('..', import.meta.url)), '.cache')
