// How far the clocks of brokers on one store may differ. Times that they share are correct up to this difference.

/** 26 hours in ms: two clocks that show the local times of any two time zones as UTC are no further apart. */
export const MOST_CLOCK_SKEW_MS = 26 * 60 * 60_000
