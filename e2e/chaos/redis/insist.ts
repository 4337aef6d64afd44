// Starts brokers as a service manager does.

const MOST_STARTS = 5

/**
 * Tries again if the start of a broker fails, because on a busy machine Redis may not answer a
 * starting broker in time.
 */
export async function insist<T>(start: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start()
    } catch (error) {
      if (attempt === MOST_STARTS) throw error
    }
  }
}
