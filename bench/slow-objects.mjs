// A preload for a broker (`--import`) whose tables are in a folder: it counts the requests for objects and the bytes
// that were read of data files, and makes each request wait. A request is a file that is opened for its bytes, or
// looked at. On SIGUSR2 it reads the wanted delay from the file that KETCH_SLOW_OBJECTS names, prints the counts since
// the last signal, and starts counting again.

import { readFileSync } from 'node:fs'
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { isMainThread } from 'node:worker_threads'

const folder = process.argv.find(arg => arg.startsWith('--svc.storage.remote.path='))?.split('=')[1]
let delayMs = 0
let counts = { requests: 0, bytes: 0 }

const pause = () => (delayMs === 0 ? undefined : new Promise(resolve => setTimeout(resolve, delayMs)))
const isObject = path => typeof path === 'string' && path.startsWith(`${folder}/`)
const { open, lstat } = fs

async function slowOpen(path, flags, ...rest) {
  const isRequest = isObject(path) && !(Number(flags) & fs.constants.O_DIRECTORY)
  if (!isRequest) return await open(path, flags, ...rest)
  counts.requests++
  await pause()
  const file = await open(path, flags, ...rest)
  const read = file.read.bind(file)
  file.read = async (...args) => {
    const result = await read(...args)
    if (path.endsWith('.parquet')) counts.bytes += result.bytesRead
    return result
  }
  return file
}

async function slowLook(path, ...rest) {
  // Folders are looked at too. Objects of a bucket have none.
  if (!isObject(path) || !/\.[a-z]+$/.test(path)) return await lstat(path, ...rest)
  counts.requests++
  await pause()
  return await lstat(path, ...rest)
}

if (isMainThread && folder !== undefined) {
  fs.open = slowOpen
  fs.lstat = slowLook
  syncBuiltinESMExports()
  process.on('SIGUSR2', () => {
    delayMs = Number(readFileSync(process.env.KETCH_SLOW_OBJECTS ?? '', 'utf8'))
    console.log(`slow-objects ${JSON.stringify(counts)}`)
    counts = { requests: 0, bytes: 0 }
  })
}
