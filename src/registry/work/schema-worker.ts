// The code of a thread that works on schemas with the formats of this program.

import { formatOf } from '../formats.ts'
import { serveSchemaCalls } from './schema-call.ts'

serveSchemaCalls(formatOf)
