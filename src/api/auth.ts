// Signing in to the console and the admin API, as the API takes and answers it.

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
        'True if the password is the shipped one. From another machine the user can do nothing but change it.',
    }),
  })
  .meta({ id: 'SignedIn' })

export type SignedIn = z.infer<typeof signedInShape>

export const authStatusShape = z
  .object({
    securityEnabled: z.boolean(),
    setupRequired: z.boolean().meta({ description: 'True while there is no user: the first admin must be made.' }),
    sso: z.object({
      enabled: z.boolean(),
      label: z.string().nullable(),
      href: z.string().nullable().meta({ description: 'The path that a browser opens to sign in.' }),
    }),
    ...signedInShape.partial().shape,
  })
  .meta({ id: 'AuthStatus' })

export type AuthStatus = z.infer<typeof authStatusShape>
