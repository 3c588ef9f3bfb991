/** The nonce under which styles may be added to this page (CSP Level 3, `style-src`); the server makes one for each answer. */
export const nonce = document.querySelector<HTMLScriptElement>('script[nonce]')?.nonce ?? '';

// What keeps the page from scrolling under a dialog (`get-nonce`, behind Mantine's Modal) reads it by the name that webpack gives it.
Object.assign(globalThis, { __webpack_nonce__: nonce });
