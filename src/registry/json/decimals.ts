// Exact decimal numbers, as far as `multipleOf` needs them: 0.3 is a multiple of 0.1, which doubles deny.

interface Decimal {
  readonly digits: bigint
  /** The power of ten of the last digit. */
  readonly exponent: number
}

/** Beyond this power of ten only equality is exact. It is beyond that of any double. */
const MOST_EXPONENT = 400

export function sameNumber(a: string, b: string): boolean {
  const [left, right] = [decimalOf(a), decimalOf(b)]
  if (left === null || right === null) return a === b
  const [x, y] = aligned(left, right)
  return x === y
}

export function isZero(text: string): boolean {
  return /^-?[0.]+(?:[eE]|$)/.test(text)
}

/** Whether `number` is a multiple of `of`, which is not zero. */
export function remainderIsZero(number: string, of: string): boolean {
  const [left, right] = [decimalOf(number), decimalOf(of)]
  if (left === null || right === null) return false
  const [x, y] = aligned(left, right)
  return x % y === 0n
}

function decimalOf(text: string): Decimal | null {
  const [mantissa = '', power = '0'] = text.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const exponent = Number(power) - fraction.length
  if (Math.abs(exponent) > MOST_EXPONENT || mantissa.length > MOST_EXPONENT) return null
  return { digits: BigInt(whole + fraction), exponent }
}

function aligned(a: Decimal, b: Decimal): [bigint, bigint] {
  const least = Math.min(a.exponent, b.exponent)
  return [a.digits * 10n ** BigInt(a.exponent - least), b.digits * 10n ** BigInt(b.exponent - least)]
}
