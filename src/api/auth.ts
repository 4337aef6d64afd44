// The API schemas for signing in to the console and the admin API.

import { z } from 'zod'
import { timeShape } from './time.ts'
import { roleShape } from './users.ts'

export const signInShape = z.object({ username: z.string(), password: z.string() })
export type SignIn = z.input<typeof signInShape>

export const signedInShape = z
  .object({
    user: z.string(),
    role: roleShape,
    expiresAt: timeShape.meta({ description: 'The time when the session ends by itself.' }),
    passwordChangeRequired: z.boolean().meta({
      description:
        'True if the user still has the shipped password. From another machine the user can only change the password.',
    }),
    federated: z.boolean().meta({
      description: 'True if single sign-on began the session. Such a user has no password here that could be changed.',
    }),
  })
  .meta({ id: 'SignedIn' })

export type SignedIn = z.infer<typeof signedInShape>

export const authStatusShape = z
  .object({
    securityEnabled: z.boolean(),
    setupRequired: z.boolean().meta({ description: 'True while there is no user: the first admin must be created.' }),
    sso: z.object({
      enabled: z.boolean(),
      label: z.string().nullable(),
      href: z.string().nullable().meta({ description: 'The path that a browser opens to sign in.' }),
    }),
    ...signedInShape.partial().shape,
  })
  .meta({ id: 'AuthStatus' })

export type AuthStatus = z.infer<typeof authStatusShape>
