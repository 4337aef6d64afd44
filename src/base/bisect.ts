// Searches in sorted lists and in numbers.

/**
 * Returns the index of the first item for which the test is true; the length of the list if there is no such item. The
 * test must be true for all items behind an item for which it is true.
 */
export function firstIndex<T>(items: readonly T[], isTrue: (item: T) => boolean): number {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isTrue(items[middle]!)) high = middle
    else low = middle + 1
  }
  return low
}

/**
 * Returns the largest number from `least` to `most` for which the test is true; null if there is no such number. The
 * test must be true for all numbers below a number for which it is true.
 */
export function largestNumber(least: number, most: number, isTrue: (number: number) => boolean): number | null {
  let [low, high] = [least, most]
  while (low <= high) {
    const middle = (low + high) >>> 1
    if (isTrue(middle)) low = middle + 1
    else high = middle - 1
  }
  return high < least ? null : high
}
