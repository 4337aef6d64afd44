// The program of descriptor.proto: descriptors are payloads of its messages, so that the walker judges them, and
// decode and encode read and write them.

import { compileFiles } from './compile.ts'
import type { File } from './model.ts'
import type { ProtobufProgram } from './program.ts'
import { wellKnownFile } from './well-known.ts'

const PATH = 'google/protobuf/descriptor.proto'
const FILE_DESCRIPTOR = 'google.protobuf.FileDescriptorProto'

let plain: ProtobufProgram | undefined

/** Options have no extensions in it. */
export function plainDescriptors(): ProtobufProgram {
  plain ??= compileFiles([wellKnownFile(PATH)], [])
  return plain
}

/** With the options that these files declare. */
export function descriptorsWith(files: ReadonlyMap<string, File>): ProtobufProgram {
  const file = files.get(PATH)
  // Without descriptor.proto no file can extend its messages.
  return file === undefined ? plainDescriptors() : compileFiles([file], files.values())
}

/** The number of FileDescriptorProto in such a program; -1 if the schema brings a descriptor.proto without it. */
export function fileDescriptorIn(program: ProtobufProgram): number {
  return program.messages.findIndex(({ fullName }) => fullName === FILE_DESCRIPTOR)
}
