/** Where to go when the OpenID provider has sent the browser back, which is always to `/sign-in` (`rest/openid.ts`). Kept for this tab only. */
const key = 'portico:return';

export const keepReturn = (address: string): void => sessionStorage.setItem(key, address);

/** @returns the address once; null when the person has not been at the provider */
export function takeReturn(): string | null {
  const address = sessionStorage.getItem(key);
  sessionStorage.removeItem(key);
  return address;
}
