//! The vehicle's MJCF: `vehicle_mjcf VEHICLE.toml`.

fn main() {
    let path = std::env::args().nth(1).expect("usage: vehicle_mjcf VEHICLE.toml");
    let text = std::fs::read_to_string(path).expect("the configuration");
    let config = sim_vehicle::config::Config::parse(&text).expect("a configuration");
    println!("{}", sim_vehicle::mjcf::mjcf(&config));
}
