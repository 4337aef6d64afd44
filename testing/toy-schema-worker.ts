// The code of a thread that works on schemas of the toy format.

import { serveSchemaCalls } from '../src/registry/work/schema-call.ts'
import { toyFormat } from './toy-format.ts'

serveSchemaCalls(toyFormat)
