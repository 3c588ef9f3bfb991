export default {
  label: process.env.LABEL ?? 'none',
  eleventyComputed: { heading: (data) => data.title },
};
