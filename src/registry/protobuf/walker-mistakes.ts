// The sentences of the walker's faults. They name the field, which a walk itself does not know.

import type { ProgramField, ProtobufProgram } from './program.ts'

/**
 * Returns the words for a field in a place. `message` is the number of the message that holds it; a tag of 0 stands for
 * no field, and for it the text is empty.
 */
export function fieldAt(program: ProtobufProgram, message: number, tag: number): string {
  const number = Math.floor(tag / 8)
  if (number === 0) return ''
  const field = fieldOf(program, message, tag)
  const name = field === undefined ? `field ${number}` : `field "${field.name}"`
  const owner = program.messages[message]
  return `${name}${owner === undefined ? '' : ` of ${owner.fullName}`}`
}

export function wireMistake(program: ProtobufProgram, message: number, tag: number): string {
  const field = fieldOf(program, message, tag)
  return `the wire type ${tag & 7} does not fit ${field?.isRepeated === true ? 'repeated ' : ''}${field?.type}`
}

/** `bit` counts the required fields of the message, from 0. */
export function missingField(program: ProtobufProgram, message: number, bit: number): string {
  const { fields = [], fullName = '' } = program.messages[message] ?? {}
  const field = fields.filter(({ isRequired }) => isRequired)[bit]
  return `the required field "${field?.name}" of ${fullName} is missing`
}

export function varintMistake(wasCut: boolean): string {
  return wasCut ? 'a varint goes on beyond the end' : 'a varint has more than 64 bits'
}

function fieldOf(program: ProtobufProgram, message: number, tag: number): ProgramField | undefined {
  return program.messages[message]?.fields.find(({ number }) => number === Math.floor(tag / 8))
}
