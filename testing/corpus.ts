// The stored inputs of tests. testing/corpus/frames contains requests of real clients, one file for each client, as
// they went over the wire: size, header, body, and so on. testing/corpus/<target> contains inputs on which a fuzz
// target once failed.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { requestHeader } from '../src/protocol/header.ts'
import { messages } from '../src/protocol/messages/all.ts'

/** The header and body of a request, without its size. */
export type Frame = Buffer

const CORPUS = new URL('corpus/', import.meta.url)
export const FRAMES = fileURLToPath(new URL('frames/', CORPUS))

/** Returns the requests of real clients. */
export function capturedFrames(): Frame[] {
  return readdirSync(FRAMES).flatMap(name => splitFrames(readFileSync(new URL(`frames/${name}`, CORPUS))))
}

/** Returns a request of every API in its lowest, a middle and its highest version. The Java client made the bodies. */
export function goldenFrames(): Frame[] {
  const lines = readFileSync(new URL('../src/protocol/golden/frames.jsonl', import.meta.url), 'utf8').trimEnd()
  return lines.split('\n').flatMap(line => {
    const { message, version, hex } = JSON.parse(line) as { message: string; version: number; hex: string }
    const api = messages.find(each => each.request.name === message)
    return api === undefined ? [] : [Buffer.concat([requestHeader(api, version, 1, 'fuzz'), Buffer.from(hex, 'hex')])]
  })
}

/** Returns the inputs on which a fuzz target once failed, with their file names. */
export function formerCrashes(target: string): readonly { readonly name: string; readonly bytes: Buffer }[] {
  const folder = crashFolder(target)
  if (!existsSync(folder)) return []
  return readdirSync(folder).map(name => ({ name, bytes: readFileSync(`${folder}/${name}`) }))
}

export function crashFolder(target: string): string {
  return fileURLToPath(new URL(target, CORPUS))
}

/** Returns the frames with their sizes, as they go over the wire. */
export function joinFrames(frames: readonly Frame[]): Buffer {
  return Buffer.concat(
    frames.flatMap(frame => {
      const size = Buffer.alloc(4)
      size.writeInt32BE(frame.length)
      return [size, frame]
    }),
  )
}

function splitFrames(stream: Buffer): Frame[] {
  const frames: Frame[] = []
  for (let at = 0; at < stream.length; at += 4 + stream.readInt32BE(at)) {
    frames.push(stream.subarray(at + 4, at + 4 + stream.readInt32BE(at)))
  }
  return frames
}
