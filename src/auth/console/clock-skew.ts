// How far the clocks of brokers on one store may differ. Times that they share are correct up to this difference.

/** 26 hours: clocks that show the local times of any two zones as UTC are no further apart. */
export const MOST_CLOCK_SKEW_MS = 26 * 60 * 60_000
