// A thread that hashes passwords, one after the other.

import { argon2Sync } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import { stepBack } from '../base/quiet-thread.ts'
import type { Argon2Input } from './argon2-threads.ts'

stepBack()
parentPort!.on('message', (input: Argon2Input) => parentPort!.postMessage(argon2Sync('argon2id', input)))
