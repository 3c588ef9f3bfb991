export default { load: () => ({ built: true }) };
