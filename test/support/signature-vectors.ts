const key = "It's a Secret to Everybody";

/** Bodies and their signatures; the first pair is the one GitHub documents. */
export const vectors: { name: string; key: string; body: Buffer; signature: string }[] = [
  ['text', Buffer.from('Hello, World!'), '757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17'],
  ['no body', Buffer.alloc(0), '66a0c074deaa0f489ead6537e0d32f9a344b90bbeda705b6ed45ecd3b413fb40'],
  ['UTF-8', Buffer.from('{"a":"😊 é"}'), '66e3c3cf24fd0d5b3b58ecdd82074983825ac106a799290351df302ae4d0da53'],
  ['JSON', Buffer.from('{"a":1}'), '3aea7d9882012d69ea49b8443b94e755179f85ee830bfa901efb5dc673af63a3'],
  [
    'JSON and a line feed',
    Buffer.from('{"a":1}\n'),
    'e02e81d467a1c4a47f0a2bb2964e7ac722b2e2340512187535bad0c6137c825f',
  ],
  ['JSON with a BOM', Buffer.from('\ufeff{"a":1}'), '14249169651ad40fee46e78650c111583952003c796fd010ddb2df7e17b66f81'],
  [
    'a form',
    Buffer.from('payload=%7B%22zen%22%3A%22Keep%20it%20simple.%22%7D'),
    'a7aa5110543054a23b728c37c413fd293865a67984639fe207297c0ecfcff6eb',
  ],
  ['no UTF-8', Buffer.from([0xff, 0xfe, 0, 1]), '5702c8786d3caadc8970d05d0aa57897410676fa2766399b972b2d8a7beba176'],
].map(([name, body, digest]) => ({
  name: name as string,
  key,
  body: body as Buffer,
  signature: `sha256=${digest as string}`,
}));
