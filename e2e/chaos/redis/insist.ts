// Starts brokers as a service manager does.

const MOST_STARTS = 5

/** The broker gave Redis up, or it was not ready in time. Any other failure of a start is a defect. */
const GAVE_UP = /^ketch: .*Redis|no Kafka address within/m

/** Tries again if a start fails because of Redis: on a busy machine it may not answer a starting broker in time. */
export async function insist<T>(start: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start()
    } catch (error) {
      if (attempt === MOST_STARTS || !GAVE_UP.test((error as Error).message)) throw error
    }
  }
}
