// The schemas of a broker's health, for the API and for the actuator.

import { z } from 'zod'

export const statusShape = z.enum(['UP', 'DOWN', 'OUT_OF_SERVICE'])
export type Status = z.infer<typeof statusShape>

export const componentShape = z
  .object({
    status: statusShape,
    details: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'HealthComponent' })

export type HealthComponents = Readonly<Record<string, z.infer<typeof componentShape>>>

export const checkShape = z
  .object({
    name: z.enum(['redis-connectivity', 'storage-redis-connectivity', 'store-connectivity']),
    status: statusShape,
    tookMs: z.int(),
    details: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'HealthCheck' })

/** The check of one connection to the store. `name` is the connection's name in the API. */
export type Check = z.infer<typeof checkShape>

export const healthShape = z
  .object({
    status: statusShape,
    details: z.object({ components: z.record(z.string(), componentShape) }),
    checks: z.array(checkShape),
  })
  .meta({ id: 'Health' })

export type HealthInFull = z.infer<typeof healthShape>

export const actuatorHealthShape = z
  .object({
    status: statusShape,
    components: z.record(z.string(), componentShape),
    groups: z.array(z.string()).optional(),
  })
  .meta({ id: 'ActuatorHealth' })

export type ActuatorHealth = z.infer<typeof actuatorHealthShape>
