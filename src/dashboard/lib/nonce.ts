/** The nonce under which styles may be added to this page (CSP Level 3, `style-src`); the server makes one for each answer. */
export const nonce = document.querySelector<HTMLScriptElement>('script[nonce]')?.nonce ?? '';
