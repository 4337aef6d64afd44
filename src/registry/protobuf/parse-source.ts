// A schema as clients send it: a .proto text, or a FileDescriptorProto as base64.

import { InvalidSchema } from '../format.ts'
import { plainDescriptors } from './descriptor-program.ts'
import { fromDescriptor } from './from-descriptor.ts'
import type { File } from './model.ts'
import { parseText } from './parse-text.ts'
import type { ProtobufProgram } from './program.ts'

/** No .proto text has only these characters: its statements end with ";" or "}". */
const BASE64 = /^[A-Za-z0-9+/\s]+={0,2}\s*$/

/** The bytes of a descriptor; null if the source is a text. */
export function descriptorBytes(source: string): Uint8Array | null {
  if (!BASE64.test(source) || source.trim() === '') return null
  const text = source.replace(/\s/g, '')
  const bytes = Buffer.from(text, 'base64')
  const isComplete = bytes.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '')
  if (!isComplete) throw new InvalidSchema('expected a .proto text, or a FileDescriptorProto as base64')
  return bytes
}

/** `program` says which options of a descriptor are known. Names are not looked up. */
export function parseSource(source: string, path: string, program: ProtobufProgram = plainDescriptors()): File {
  const bytes = descriptorBytes(source)
  return bytes === null ? parseText(source, path) : fromDescriptor(bytes, path, program)
}
