// The number of an enum in a varint. Negative numbers come as 64 bits, of which a JavaScript number holds only 53.

/** `value` is about the varint that begins at `at`. */
export function enumNumber(bytes: Uint8Array, at: number, value: number): number {
  if (value < 2 ** 53) return value
  let low = 0
  for (let index = 0; index < 5; index++) low |= ((bytes[at + index] as number) & 0x7f) << (7 * index)
  return low
}
