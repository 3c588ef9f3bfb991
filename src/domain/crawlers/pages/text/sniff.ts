/** Bytes that begin images (WHATWG MIME Sniffing 6.1): BMP, GIF, ICO, JPEG, PNG, and RIFF for WebP. */
const imageMarks = ['424d', '474946383761', '474946383961', '00000100', 'ffd8ff', '89504e470d0a1a0a', '52494646'];

/** Tags that begin a document (WHATWG MIME Sniffing 7.1). */
const htmlMark =
  /^[\t\n\f\r ]*(?:<\?xml[^>]*>[\t\n\f\r ]*)?<(?:!--|(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[\t\n\f\r />])/i;

/** Whether a body is an image, whatever its type says. @param bytes its beginning */
export function isImage(bytes: Uint8Array): boolean {
  const beginning = Buffer.from(bytes.subarray(0, 8)).toString('hex');
  return imageMarks.some((mark) => beginning.startsWith(mark));
}

/** Whether a text begins as HTML does. */
export const looksLikeHtml = (text: string): boolean => htmlMark.test(text.slice(0, 1_024));
